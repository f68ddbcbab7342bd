#!/usr/bin/python3
"""The braid program as a process: what it prints, its exit codes, signals, admin socket and metrics.

process_test.py BRAID
"""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

BRAID = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/release/braid"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
# What is not there after this time does not come: long, because other tests may keep the machine busy.
PATIENCE_S = 60

NFS, MOUNT = 100003, 100005
MOUNT_MNT, MOUNT_EXPORT = 1, 5
NFS_LOOKUP, NFS_READ = 3, 6
NFS4_COMPOUND = 1
OP_LOOKUP, OP_OPEN, OP_PUTROOTFH, OP_OPEN_CONFIRM, OP_SETCLIENTID, OP_SETCLIENTID_CONFIRM = 15, 18, 24, 20, 35, 36
MIB = 1 << 20


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def record(xid, program, version, procedure, arguments):
    """One RPC call with AUTH_NONE as a record of TCP."""
    body = struct.pack(">10I", xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + arguments
    return struct.pack(">I", 0x80000000 | len(body)) + body


class Braid:
    """A running `braid serve` in a scratch directory of its own, run by `wrapper` if there is one."""

    def __init__(self, scratch, *arguments, env=None, user=None, wrapper=()):
        self.scratch = scratch
        self.admin = os.path.join(scratch, "admin.sock")
        self.log_path = os.path.join(scratch, "log")
        command = [*wrapper, BRAID, "serve", *arguments, "--listen", "127.0.0.1", "--state", os.path.join(scratch, "state"),
                   "--admin", self.admin]
        if "--port" not in arguments:
            command += ["--port", "0"]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                            env={**os.environ, **(env or {})}, user=user, group=user,
                                            extra_groups=[] if user else None)
        self.announcement = self.read_announcement()
        port = re.search(r"\bport=(\d+)", self.announcement)
        self.port = port and int(port[1])

    def read_announcement(self):
        """Standard output up to the first mount command for NFSv3; less if the program ended."""
        text = ""
        while "  mount -t nfs -o vers=3" not in text:
            line = self.process.stdout.readline()
            if not line:
                break
            text += line
        return text

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def await_log(self, text):
        """Returns once the log contains the text."""
        for _ in range(PATIENCE_S * 50):
            if text in self.log():
                return
            select.select([], [], [], 0.02)
        raise AssertionError(f"'{text}' is not in the log:\n{self.log()}")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            self.process.stdout.close()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.wait()

    def status(self, *arguments):
        return self.ask("status", *arguments)

    def ask(self, *command):
        """`braid` with a command for this server."""
        return subprocess.run([BRAID, *command, "--admin", self.admin], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)

    def compound(self, *operations):
        """The results of a COMPOUND of NFSv4.0, behind the array's length."""
        results = self.call(NFS, 4, NFS4_COMPOUND,
                            struct.pack(">III", 0, 0, len(operations)) + b"".join(operations))
        status, _, count = struct.unpack_from(">3I", results)
        assert status == 0 and count == len(operations), results
        return results[12:]

    def compound_status(self, *operations):
        """The status of a COMPOUND of NFSv4.0."""
        return struct.unpack_from(">I", self.call(NFS, 4, NFS4_COMPOUND, struct.pack(">III", 0, 0, len(operations)) +
                                                  b"".join(operations)))[0]

    def open_40(self, name):
        """A 4.0 client that has this file in the root open, and another one of its own name; its id."""
        results = self.compound(struct.pack(">I", OP_SETCLIENTID) + b"verifier" + opaque(name) +
                                struct.pack(">I", 0) + opaque(b"tcp") + opaque(b"0.0.0.0.0.0") + struct.pack(">I", 0))
        client, confirm = struct.unpack_from(">Q8s", results, 8)
        self.compound(struct.pack(">IQ", OP_SETCLIENTID_CONFIRM, client) + confirm)
        # Of the owner, not to be created, by name, for reading and writing.
        opened = self.compound(struct.pack(">I", OP_PUTROOTFH),
                               struct.pack(">IIIIQ", OP_OPEN, 1, 3, 0, client) + opaque(b"owner " + name) +
                               struct.pack(">II", 0, 0) + opaque(name))
        assert struct.unpack_from(">II", opened, 8) == (OP_OPEN, 0), opened
        return f"{client:#x}"

    def call(self, program, version, procedure, arguments=b""):
        """The results of one RPC, behind the reply's header."""
        with self.connect() as connection:
            connection.sendall(record(7, program, version, procedure, arguments))
            with connection.makefile("rb") as stream:
                (mark,) = struct.unpack(">I", stream.read(4))
                return stream.read(mark & 0x7FFFFFFF)[24:]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def handle(self, name):
        """The handle of a file in the exported root."""
        results = self.call(MOUNT, 3, MOUNT_MNT, opaque(b"/"))
        status, length = struct.unpack_from(">2I", results)
        assert status == 0, status
        results = self.call(NFS, 3, NFS_LOOKUP, opaque(results[8:8 + length]) + opaque(name.encode()))
        status, length = struct.unpack_from(">2I", results)
        assert status == 0, status
        return results[8:8 + length]

    def exports(self):
        """The paths that MOUNT's EXPORT lists."""
        results = self.call(MOUNT, 3, MOUNT_EXPORT)
        paths, at = [], 0

        def word():
            nonlocal at
            at += 4
            return struct.unpack_from(">I", results, at - 4)[0]

        def text():
            nonlocal at
            length = word()
            at += (length + 3) // 4 * 4
            return results[at - (length + 3) // 4 * 4:][:length].decode()

        while word():
            paths.append(text())
            while word():
                text()
        return paths


def run(*arguments):
    return subprocess.run([BRAID, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


class ProcessTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="braid-process.")
        os.chmod(self.scratch, 0o755)
        self.addCleanup(shutil.rmtree, self.scratch)
        self.directory = os.path.join(self.scratch, "data")
        os.mkdir(self.directory)

    def serve(self, *arguments, **named):
        server = Braid(self.scratch, *(arguments or (self.directory,)), **named)
        self.addCleanup(server.end)
        self.assertIn("  mount -t nfs", server.announcement, server.log())
        return server

    def config(self, text):
        path = os.path.join(self.scratch, "braid.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def export_text(self, *names):
        text = ""
        for name in names:
            os.makedirs(os.path.join(self.scratch, name), exist_ok=True)
            text += f'[[export]]\npath = "/{name}"\ndirectory = "{self.scratch}/{name}"\n'
        return text


class Serving(ProcessTest):
    def second_waits(self, first, said, *arguments, state="state"):
        """Another one, started with these arguments, says that it waits for the first one, and serves after that."""
        other = os.path.join(self.scratch, "other")
        os.mkdir(other)
        command = [BRAID, "serve", other, "--listen", "127.0.0.1", "--port", "0", "--state",
                   os.path.join(self.scratch, state), "--admin", os.path.join(self.scratch, "second.sock"), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
            line = ""
            while "directory_in_use" not in line:
                line = second.stderr.readline()
                self.assertTrue(line, "it has ended")
            self.assertIn(said, line)
            self.assertEqual(first.stop(), 0)
            self.assertIn("Serving", second.stdout.readline())
            second.send_signal(signal.SIGTERM)
            second.communicate(timeout=PATIENCE_S)
            self.assertEqual(second.returncode, 0)

    def test_one_that_starts_while_another_ends_waits_for_it_and_says_so(self):
        first = self.serve()
        self.second_waits(first, f"another server (process {first.process.pid}) uses the state directory")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_so_does_one_that_wants_the_same_store(self):
        store = os.path.join(self.scratch, "store")
        first = self.serve(self.directory, "--store", store)
        self.second_waits(first, f"braid serve (process {first.process.pid}) uses the store {store}", "--store", store,
                          state="another")

    def test_the_one_that_waits_ends_when_it_is_told_to(self):
        self.serve()
        command = [BRAID, "serve", self.directory, "--listen", "127.0.0.1", "--port", "0", "--state",
                   os.path.join(self.scratch, "state"), "--admin", os.path.join(self.scratch, "second.sock")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
            while "directory_in_use" not in second.stderr.readline():
                self.assertIsNone(second.poll())
            second.send_signal(signal.SIGTERM)
            _, said = second.communicate(timeout=PATIENCE_S)
            self.assertIn("another server", said)
            self.assertEqual(second.returncode, 1)

    def test_it_prints_the_mount_command_and_answers_on_that_port(self):
        server = self.serve()
        self.assertIn(f"Serving {self.directory} as / on port {server.port}\n", server.announcement)
        self.assertIn(f"  mount -t nfs -o vers=3,proto=tcp,port={server.port},mountport={server.port},mountproto=tcp,"
                      "nolock 127.0.0.1:/ /mnt\n", server.announcement)
        self.assertEqual(server.call(NFS, 3, 0), b"")
        self.assertEqual(server.exports(), ["/"])

    def test_sigterm_and_sigint_end_it_with_success_and_remove_the_socket(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.serve()
            self.assertTrue(os.path.exists(server.admin))
            with socket.create_connection(("127.0.0.1", server.port)):
                self.assertEqual(server.stop(number), 0, server.log())
            self.assertFalse(os.path.exists(server.admin))

    def test_the_socket_of_a_killed_server_is_replaced(self):
        self.serve().end()
        self.assertEqual(self.serve().stop(), 0)

    def test_the_port_is_free_at_once_after_the_end(self):
        first = self.serve()
        first.call(NFS, 3, 0)
        first.stop()
        self.assertEqual(self.serve(self.directory, "--port", str(first.port)).port, first.port)

    def test_limits_of_the_process_are_set(self):
        server = self.serve()
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines())
        self.assertEqual(status["Umask"], "0000")
        sys_resource = 1 << 24
        self.assertEqual(int(status["CapEff"], 16) & sys_resource, 0)
        self.assertEqual(int(status["CapPrm"], 16) & sys_resource, 0)
        soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        self.assertEqual(soft, hard)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_an_ordinary_user_is_told_what_is_limited(self):
        nobody = 65534
        os.chown(self.scratch, nobody, nobody)
        server = self.serve(user=nobody)
        self.assertIn(f"Note: Every client acts with the rights of user {nobody}", server.announcement)
        self.assertIn("File handles last only as long as this process", server.announcement)
        self.assertEqual(server.exports(), ["/"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_without_cap_lease_delegations_are_said_to_be_limited(self):
        lacking = "Delegations are given for files of user 0 alone: CAP_LEASE is missing."
        server = self.serve()
        self.assertNotIn(lacking, server.announcement + server.status().stdout)
        self.assertEqual(json.loads(server.status("--json").stdout)["restrictions"], [])
        server.end()
        server = self.serve(wrapper=("setpriv", "--bounding-set", "-lease"))
        self.assertIn(f"Note: {lacking}", server.announcement)
        server.await_log(f" restricted {lacking}")
        self.assertEqual(json.loads(server.status("--json").stdout)["restrictions"], [lacking])
        self.assertIn(lacking, server.status().stdout)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_an_ordinary_user_on_a_fresh_account_needs_no_directory_made(self):
        nobody = 65534
        home = os.path.join(self.scratch, "home")
        os.mkdir(home)
        os.chown(home, nobody, nobody)
        runtime = os.path.join(home, "run")
        command = [BRAID, "serve", self.directory, "--listen", "127.0.0.1", "--port", "0"]
        environment = {"PATH": os.environ["PATH"], "HOME": home, "XDG_RUNTIME_DIR": runtime}
        os.chmod(self.scratch, 0o755)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                              user=nobody, group=nobody, extra_groups=[]) as server:
            self.assertIn("Serving", server.stdout.readline(), "no announcement")
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=PATIENCE_S)
            self.assertEqual(server.returncode, 0)
        state = os.path.join(home, ".local/state/braid")
        self.assertEqual(os.stat(state).st_mode & 0o777, 0o700)
        self.assertTrue(os.path.exists(os.path.join(state, "exports")))

    def test_it_serves_though_nobody_reads_what_it_says(self):
        reading, writing = os.pipe()
        os.close(reading)
        log_path = os.path.join(self.scratch, "log")
        with open(log_path, "wb") as log:
            server = subprocess.Popen([BRAID, "serve", self.directory, "--listen", "127.0.0.1", "--port", "0", "--state",
                                       os.path.join(self.scratch, "state"), "--admin",
                                       os.path.join(self.scratch, "admin.sock")], stdout=writing, stderr=log)
        os.close(writing)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        socket_path = os.path.join(self.scratch, "admin.sock")
        for _ in range(PATIENCE_S * 50):
            if run("status", "--admin", socket_path).returncode == 0:
                break
            select.select([], [], [], 0.02)
        self.assertEqual(run("status", "--admin", socket_path).returncode, 0)
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(PATIENCE_S), 0)

    def test_the_service_manager_is_told_each_state(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.settimeout(PATIENCE_S)
        manager.bind(os.path.join(self.scratch, "notify"))
        server = self.serve("--config", self.config(self.export_text("a")),
                            env={"NOTIFY_SOCKET": os.path.join(self.scratch, "notify")})
        self.assertTrue(manager.recv(500).startswith(b"READY=1\n"))
        server.process.send_signal(signal.SIGHUP)
        self.assertTrue(manager.recv(500).startswith(b"RELOADING=1\n"))
        self.assertTrue(manager.recv(500).startswith(b"READY=1\n"))
        server.stop()
        self.assertEqual(manager.recv(500), b"STOPPING=1")


class DataServers(ProcessTest):
    """Of the process that is their metadata server."""

    def known(self, server, count):
        """The ids of its data servers, when all are in contact."""
        for _ in range(PATIENCE_S * 50):
            roles = json.loads(server.status("--json").stdout)["roles"]
            servers = [roles[f"ds{number}"]["data_server"] for number in range(1, count + 1)]
            if all(one["contact"] for one in servers):
                return [one["server"] for one in servers]
            select.select([], [], [], 0.02)
        raise AssertionError(f"no contact:\n{server.log()}")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_they_are_the_same_ones_after_a_kill_and_end_cleanly(self):
        elsewhere = os.path.join(self.scratch, "elsewhere")
        os.mkdir(elsewhere)
        arguments = (self.directory, "--data-servers", "3", "--data-directory", elsewhere)
        first = self.serve(*arguments)
        before = self.known(first, 3)
        self.assertEqual(len(set(before)), 3)
        self.assertTrue(os.path.exists(os.path.join(elsewhere, "identity")))
        self.assertEqual(sorted(os.listdir(os.path.join(self.scratch, "state/data-servers"))), ["ds2", "ds3"])
        first.process.kill()
        said = first.process.stdout.read()
        first.wait()
        self.assertIn(f": {elsewhere}, ", said)
        self.assertIn(f": {self.scratch}/state/data-servers/ds2, ", said)
        self.assertIn(" free\n", said)
        second = self.serve(*arguments)
        self.assertEqual(self.known(second, 3), before)
        self.assertIn("Data server ds3: objects in", second.status().stdout)
        self.assertEqual(second.stop(), 0, second.log())

    def refused(self):
        """A server whose data server has just been told that its store is another one than that of before."""
        arguments = (self.directory, "--data-servers", "2")
        first = self.serve(*arguments)
        self.known(first, 2)
        self.assertEqual(first.stop(), 0, first.log())
        shutil.rmtree(os.path.join(self.scratch, "state/data-servers/ds2"))
        second = self.serve(*arguments)
        second.await_log("data_server_refused")
        return second

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_one_that_is_refused_ends_the_process_with_the_reason(self):
        server = self.refused()
        self.assertEqual(server.wait(), 1, server.log())
        self.assertIn("braid: the metadata server", server.log())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_and_who_tells_the_process_to_end_meanwhile_does_not_end_it_at_once(self):
        server = self.refused()
        self.assertEqual(server.stop(), 1, server.log())
        self.assertIn("every call was answered", server.log())

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_an_ordinary_user_is_told_that_they_need_root(self):
        nobody = 65534
        os.chown(self.scratch, nobody, nobody)
        done = subprocess.run([BRAID, "serve", self.directory, "--port", "0", "--data-servers", "2", "--state",
                               os.path.join(self.scratch, "state")], user=nobody, group=nobody, extra_groups=[],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("braid: --data-servers needs root", done.stderr)


class Ending(ProcessTest):
    def reading_client(self, server, calls):
        """A connection with so many READs of 1 MiB. The first reply has begun to come; none fits into its buffers."""
        handle = server.handle("big")
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        for xid in range(calls):
            connection.sendall(record(xid, NFS, 3, NFS_READ, opaque(handle) + struct.pack(">QI", 0, MIB)))
        connection.recv(1, socket.MSG_PEEK)
        return connection

    def serve_big(self, *limits):
        with open(os.path.join(self.directory, "big"), "wb") as file:
            file.truncate(MIB)
        return self.serve("--config", self.config(
            "\n".join(["[limits]", *limits, "[[export]]", 'path = "/"', f'directory = "{self.directory}"', ""])))

    def test_running_calls_are_answered_and_replies_sent_whole(self):
        server = self.serve_big()
        with self.reading_client(server, 64) as connection, connection.makefile("rb") as stream:
            replies = 0
            while mark := stream.read(4):
                length = struct.unpack(">I", mark)[0] & 0x7FFFFFFF
                self.assertGreater(length, MIB)
                self.assertEqual(len(stream.read(length)), length)
                replies += 1
                if replies == 2:
                    server.process.send_signal(signal.SIGTERM)
        self.assertGreaterEqual(replies, 2)
        self.assertEqual(server.wait(), 0, server.log())

    def test_a_client_that_does_not_read_keeps_it_no_longer_than_the_limit(self):
        server = self.serve_big("drain_seconds = 1")
        self.reading_client(server, 64)
        self.assertEqual(server.stop(), 0, server.log())

    def test_a_second_signal_ends_it_at_once(self):
        server = self.serve_big("drain_seconds = 3600")
        self.reading_client(server, 64)
        server.process.send_signal(signal.SIGTERM)
        server.await_log(" stopping ")
        self.assertEqual(server.stop(), -signal.SIGTERM)
        self.assertEqual(self.serve().stop(), 0)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("rpcbind") and shutil.which("ip"), "needs root and rpcbind")
class Rpcbind(ProcessTest):
    def test_programs_are_announced_while_it_runs(self):
        script = f"""
            ip link set lo up
            mount -t tmpfs none /run
            rpcbind -f & rpcbind=$!
            until rpcinfo -p 127.0.0.1 >/dev/null 2>&1; do sleep 0.05; done
            "{BRAID}" serve "{self.directory}" --state "{self.scratch}/state" >"{self.scratch}/out" & braid=$!
            until grep -q '  mount' "{self.scratch}/out"; do sleep 0.05; kill -0 $braid || exit 1; done
            cat "{self.scratch}/out"
            rpcinfo -p 127.0.0.1
            kill $braid; wait $braid; echo "ended with $?"
            rpcinfo -p 127.0.0.1
            kill $rpcbind
        """
        done = subprocess.run(["unshare", "--net", "--mount", "bash", "-c", script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        if "unshare:" in done.stdout:
            self.skipTest("namespaces are refused here")
        running, ended, after = done.stdout.partition("ended with 0\n")
        self.assertTrue(ended, done.stdout)
        self.assertIn("  mount -t nfs -o vers=3,proto=tcp,nolock 127.0.0.1:/ /mnt\n", running)
        for program in (NFS, MOUNT):
            self.assertRegex(running, rf"{program} +3 +tcp +2049")
            self.assertNotIn(str(program), after)


class Reloading(ProcessTest):
    def test_sighup_puts_the_exports_of_the_file_into_force(self):
        server = self.serve("--config", self.config(self.export_text("a")))
        self.assertEqual(server.exports(), ["/a"])
        self.config(self.export_text("b", "a"))
        server.process.send_signal(signal.SIGHUP)
        server.await_log(" reloaded ")
        self.assertEqual(sorted(server.exports()), ["/a", "/b"])

    def test_a_wrong_file_changes_nothing_and_is_named_with_its_line(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path)
        self.config(self.export_text("b") + "squahs = 'all'\n")
        server.process.send_signal(signal.SIGHUP)
        server.await_log(f"{path}:4: unknown key 'squahs' in [[export]]; did you mean 'squash'?")
        self.assertEqual(server.exports(), ["/a"])

    def test_each_mistake_has_a_line_of_its_own(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path)
        self.config(self.export_text("b") + "squahs = 'all'\nreadonly = 1\n")
        server.process.send_signal(signal.SIGHUP)
        server.await_log("reload_failed " + f"{path}:4: unknown key 'squahs'")
        server.await_log("reload_failed " + f"{path}:5: unknown key 'readonly'")
        self.assertNotIn("\\x0a", server.log())

    def test_a_directory_that_is_gone_is_unavailable_and_holds_up_no_other(self):
        server = self.serve("--config", self.config(self.export_text("a")))
        self.config(self.export_text("b", "a"))
        os.rmdir(os.path.join(self.scratch, "b"))
        done = server.ask("reload")
        self.assertEqual((done.returncode, done.stdout), (0, "2 exports are in force.\n"))
        self.assertIn("the export is unavailable: /b: ", done.stderr)
        self.assertIn("b cannot be opened: No such file or directory", done.stderr)
        self.assertEqual(sorted(server.exports()), ["/a", "/b"])
        self.assertIn("/b is unavailable: ", server.status().stdout)
        os.mkdir(os.path.join(self.scratch, "b"))
        server.await_log("export_available export=/b")

    def test_the_command_waits_for_what_comes_of_it(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path)
        self.config(self.export_text("b") + "squahs = 'all'\nreadonly = 1\n")
        done = server.ask("reload")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.splitlines(), [
            f"{path}:4: unknown key 'squahs' in [[export]]; did you mean 'squash'?",
            f"{path}:5: unknown key 'readonly' in [[export]]; did you mean 'read_only'?",
            "braid reload: the exports stay as they were"])
        self.assertEqual(server.exports(), ["/a"])
        self.config(self.export_text("b"))
        self.assertEqual(server.ask("reload").returncode, 0)
        self.assertEqual(server.exports(), ["/b"])

    def test_what_counts_is_the_file_as_the_reload_finds_it(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path)
        self.config(self.export_text("b"))
        self.assertEqual(run("serve", "--check-config", path).returncode, 0)
        self.config(self.export_text("b") + "squahs = 'all'\n")
        self.assertEqual(server.ask("reload").returncode, 1)
        self.assertEqual(server.exports(), ["/a"])
        self.assertEqual(run("serve", "--check-config", path).returncode, 2)
        self.config(self.export_text("c"))
        self.assertEqual(server.ask("reload").returncode, 0)
        self.assertEqual(server.exports(), ["/c"])

    def test_reloads_that_meet_are_done_one_after_the_other(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path)
        self.config(self.export_text("b"))
        askers = [subprocess.Popen([BRAID, "reload", "--admin", server.admin], stdout=subprocess.PIPE, text=True)
                  for _ in range(4)]
        server.process.send_signal(signal.SIGHUP)
        for asker in askers:
            self.assertEqual(asker.communicate(timeout=PATIENCE_S)[0], "1 exports are in force.\n")
        self.assertEqual(server.exports(), ["/b"])

    def test_what_needs_a_restart_is_named(self):
        server = self.serve("--config", self.config("[server]\nthreads = 2\n" + self.export_text("a")))
        self.config("[server]\nthreads = 3\n[limits]\nlease_seconds = 60\n" + self.export_text("a"))
        done = server.ask("reload")
        self.assertEqual(done.returncode, 0)
        self.assertIn("read at the start only: [limits] lease_seconds, [server] threads\n", done.stderr)
        server.await_log("reload_needs_restart [limits] lease_seconds, [server] threads: ")

    def test_an_export_is_suspended_and_resumed(self):
        server = self.serve("--config", self.config(self.export_text("a")))
        done = server.ask("export", "suspend", "/a")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "The export /a is suspended.\n", ""))
        self.assertIn("/a is unavailable: it is suspended; to serve it again: braid export resume /a",
                      server.status().stdout)
        self.assertEqual(server.ask("reload").returncode, 0)
        self.assertIn("it is suspended", server.status().stdout)
        done = server.ask("export", "resume", "/a")
        self.assertEqual((done.returncode, done.stdout), (0, "The export /a is served again.\n"))
        self.assertNotIn("unavailable", server.status().stdout)
        done = server.ask("export", "resume", "/a")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "braid export resume: the export /a is not suspended\n"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_mount_below_an_export_is_named(self):
        path = self.config(self.export_text("a"))
        below = os.path.join(self.scratch, "a", "nested disk")
        os.mkdir(below)
        if subprocess.run(["mount", "-t", "tmpfs", "none", below], check=False, stderr=subprocess.DEVNULL).returncode:
            self.skipTest("no right to mount")
        self.addCleanup(subprocess.run, ["umount", below], check=True)
        server = self.serve("--config", path)
        said = f"{below} is another file system, and clients of /a see an empty directory there; export it by itself"
        self.assertIn(said, server.announcement)
        server.await_log("nested_mount export=/a: " + said)
        self.assertIn(said, server.status().stdout)

    def test_without_a_file_sighup_is_said_to_be_ignored(self):
        server = self.serve()
        server.process.send_signal(signal.SIGHUP)
        server.await_log("reload_ignored")
        done = server.ask("reload")
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no configuration file\n", done.stderr)
        self.assertEqual(server.exports(), ["/"])


class Refusing(ProcessTest):
    def refused(self, code, *arguments, state="state"):
        done = run("serve", "--state", os.path.join(self.scratch, state), "--admin",
                   os.path.join(self.scratch, "admin.sock"), *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            waited, refused = self.refused(1, self.directory, "--listen", "127.0.0.1", "--port", str(port)).splitlines()
            self.assertIn(f" port_in_use port={port}: ", waited)
            self.assertEqual(refused, f"braid: port {port} is in use already, perhaps by another NFS server; give another "
                                      "one with --port")

    def test_an_address_of_another_host(self):
        self.assertEqual(self.refused(1, self.directory, "--listen", "192.0.2.1", "--port", "12049"),
                         "braid: 192.0.2.1 is not an address of this host\n")

    def test_a_directory_that_is_missing_or_none(self):
        self.assertEqual(self.refused(1, "/nonexistent/x", "--port", "0"),
                         "braid: cannot serve /nonexistent/x: No such file or directory\n")
        file = os.path.join(self.scratch, "file")
        with open(file, "wb"):
            pass
        self.assertEqual(self.refused(1, file, "--port", "0"), f"braid: cannot serve {file}: Not a directory\n")

    def test_an_admin_socket_in_use(self):
        server = self.serve()
        self.assertIn("another server answers on the admin socket",
                      self.refused(1, self.directory, "--port", "0", state="other"))
        self.assertEqual(server.exports(), ["/"])

    def test_a_state_directory_in_use(self):
        server = self.serve()
        path = self.config("[limits]\ndrain_seconds = 0\n" + self.export_text("a"))
        said = self.refused(1, "--config", path, "--port", "0")
        self.assertIn(f"braid: another server (process {server.process.pid}) uses the state directory "
                      f"{self.scratch}/state; give another one with --state\n", said)
        self.assertEqual(server.exports(), ["/"])

    def test_more_descriptors_than_there_are(self):
        path = self.config("[limits]\nopen_files_max = 10000000\n" + self.export_text("a"))
        self.assertIn("lower connections_max or open_files_max", self.refused(1, "--config", path, "--port", "0"))

    def test_a_wrong_file_and_a_wrong_command_line_have_a_code_of_their_own(self):
        path = self.config("[server]\nprot = 1\n" + self.export_text("a"))
        self.assertEqual(self.refused(2, "--config", path),
                         f"{path}:2: unknown key 'prot' in [server]; did you mean 'port'?\n")
        self.assertIn("--squash: 'some' is wrong", self.refused(2, self.directory, "--squash", "some"))

    def test_a_file_can_be_checked_without_serving(self):
        path = self.config(self.export_text("a", "b"))
        done = run("serve", "--check-config", path)
        self.assertEqual((done.returncode, done.stdout), (0, f"{path}: right; 2 exports\n"))
        self.assertEqual(run("serve", "--config", path, "--check-config").stdout, f"{path}: right; 2 exports\n")
        for name in ("a", "b"):
            os.rmdir(os.path.join(self.scratch, name))
        done = run("serve", "--check-config", path)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        for name, line in (("a", 3), ("b", 6)):
            self.assertIn(f"{path}:{line}: the directory {self.scratch}/{name} of the export /{name} cannot be opened: "
                          "No such file or directory;", done.stderr)
        self.config("x = 1\n")
        self.assertEqual(run("serve", "--check-config", path).returncode, 2)

    def test_a_wrong_file_cannot_write_on_the_terminal(self):
        path = self.config('"\\u001b[2J" = 1\n')
        said = run("serve", "--check-config", path).stderr
        self.assertIn("unknown key '\\x1b[2J'", said)
        self.assertNotIn("\x1b", said)


class Documentation(ProcessTest):
    def test_every_key_of_the_file_is_described(self):
        with open(os.path.join(ROOT, "docs/configuration.md"), encoding="utf-8") as file:
            text = file.read()
        for section, keys_min in (("[server]", 8), ("[limits]", 9), ("[rdma]", 4), ("[[export]]", 9),
                                  ("[[export.rule]]", 6)):
            above = "[[export]]\n" if section == "[[export.rule]]" else ""
            path = self.config(f"{above}{section}\nxylophone = 1\n")
            complaint = run("serve", "--check-config", path).stderr
            keys = re.search(re.escape(section) + "; known keys are (.*)", complaint).group(1).split(", ")
            self.assertGreaterEqual(len(keys), keys_min)
            for key in keys:
                self.assertIn(f"`{key}`", text.partition(f"## {section}")[2].partition("\n## ")[0])

    def test_the_example_is_right(self):
        with open(os.path.join(ROOT, "docs/configuration.md"), encoding="utf-8") as file:
            example = file.read().partition("```toml\n")[2].partition("```")[0]
        example = example.replace('"/srv/', f'"{self.directory}')
        for name in re.findall('^directory = "(.*)"', example, re.M):
            os.mkdir(name)
        self.assertEqual(run("serve", "--check-config", self.config(example)).stderr, "")

    def test_every_option_is_described(self):
        with open(os.path.join(ROOT, "docs/configuration.md"), encoding="utf-8") as file:
            text = file.read()
        options = set(re.findall(r"--[a-z-]+", run("serve", "--help").stdout)) - {"--help"}
        self.assertGreaterEqual(len(options), 14)
        for option in options:
            self.assertIn(option, text)


class Rdma(ProcessTest):
    def test_without_a_device_tcp_is_served_and_the_reason_said(self):
        if os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
            self.skipTest("this host has a device")
        server = self.serve(self.directory, "--rdma")
        self.assertEqual(server.call(NFS, 3, 0), b"")
        server.await_log("rdma_off")
        self.assertIn("RDMA is off: this host has no RDMA device", server.status().stdout)
        self.assertFalse(json.loads(server.status("--json").stdout)["rdma"]["on"])
        self.assertEqual(server.stop(), 0)


class Status(ProcessTest):
    def test_it_shows_the_server_and_its_calls(self):
        server = self.serve()
        server.call(NFS, 3, 0)
        report = json.loads(server.status("--json").stdout)
        self.assertEqual(report["pid"], server.process.pid)
        self.assertEqual(report["listen"], [f"127.0.0.1:{server.port}"])
        self.assertEqual([e["path"] for e in report["exports"]], ["/"])
        calls = {(p["program"], p["version"], p["procedure"]): p["calls"] for p in report["procedures"]}
        self.assertEqual(calls[("nfs", 3, "NULL")], 1)
        self.assertEqual(calls[("nfs", 4, "NULL")], 0)
        self.assertEqual(calls[("nfs", 3, "READ")], 0)
        table = server.status()
        self.assertEqual(table.returncode, 0)
        self.assertIn(f"pid {server.process.pid},", table.stdout)
        self.assertIn(f"  /       {self.directory}  root", table.stdout)

    def test_a_socket_that_was_moved_is_found(self):
        path = self.config(self.export_text("a"))
        server = self.serve("--config", path, env={"XDG_RUNTIME_DIR": self.scratch})
        environment = {**os.environ, "XDG_RUNTIME_DIR": self.scratch}
        done = subprocess.run([BRAID, "status", "--port", str(server.port)], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, env=environment)
        self.assertIn(f"pid {server.process.pid},", done.stdout, done.stderr)
        directory = "/run/braid" if os.geteuid() == 0 else os.path.join(self.scratch, "braid")
        link = os.path.join(directory, f"{server.port}.sock")
        self.assertEqual(os.readlink(link), server.admin)
        server.stop()
        self.assertFalse(os.path.lexists(link))

    def test_a_configuration_names_the_server(self):
        path = self.config(f"[server]\nadmin_socket = '{self.scratch}/admin.sock'\n" + self.export_text("a"))
        server = self.serve("--config", path)
        self.assertIn(f"pid {server.process.pid},", run("status", "--config", path).stdout)
        self.assertIn("cannot be read", run("status", "--config", "/nonexistent").stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_user_is_told_that_he_may_not_look(self):
        server = self.serve()
        os.chmod(self.scratch, 0o755)
        done = subprocess.run([BRAID, "status", "--admin", server.admin], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, user=65534, group=65534, extra_groups=[])
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"braid status: the server on {server.admin} answers only to root and to the user that it "
                             "runs as, and this is user 65534\n"))

    def test_without_a_server_it_fails_with_one_line(self):
        done = run("status", "--admin", os.path.join(self.scratch, "none.sock"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"braid status: no server answers on {self.scratch}/none.sock: "
                                      "No such file or directory\n")

    def test_the_socket_is_for_its_owner_alone_and_outlives_bad_requests(self):
        server = self.serve()
        self.assertEqual(os.stat(server.admin).st_mode & 0o777, 0o600)
        for request in (b"\n", b"{}\n", b"\xff\xfe\n", b"[" * 5000, b"{" * 4000 + b"\n", b"x" * 100000, b""):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE_S)
                connection.connect(server.admin)
                with contextlib.suppress(OSError):
                    connection.sendall(request)
                    connection.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
                self.assertEqual(list(json.loads(answer)) if request else answer, ["error"] if request else b"")
        self.assertEqual(server.status().returncode, 0)


class State(ProcessTest):
    def make_file(self, name):
        """A file that everybody may use: the calls have AUTH_NONE."""
        path = os.path.join(self.directory, name)
        with open(path, "wb"):
            os.chmod(path, 0o666)

    def test_clients_and_their_opens_are_listed_and_evicted(self):
        for name in ("first", "second"):
            self.make_file(name)
        server = self.serve()
        self.assertEqual(server.ask("clients").stdout, "  No clients.\n")
        first, second = server.open_40(b"first"), server.open_40(b"second")
        clients = json.loads(server.ask("clients", "--json").stdout)["clients"]
        self.assertEqual([c["id"] for c in clients], sorted([first, second], key=lambda text: int(text, 16)))
        clients.sort(key=lambda client: [first, second].index(client["id"]))
        self.assertEqual((clients[0]["name"], clients[0]["minor_version"], clients[0]["state"], clients[0]["opens"]),
                         ("first", 0, "active", 1))
        self.assertGreater(clients[0]["lease_left_seconds"], 0)
        self.assertRegex(clients[0]["address"], r"^127\.0\.0\.1:\d+$")
        self.assertRegex(server.ask("clients").stdout, rf"  {first}  127.0.0.1:\d+ +4.0  active")

        opens = json.loads(server.ask("opens", "--json", "--client", second).stdout)["opens"]
        self.assertEqual([(o["client"], o["minor_version"], o["access"], o["deny"], o["owner"]) for o in opens],
                         [(second, 0, "both", "-", "owner second")])
        self.assertTrue(opens[0]["file"].startswith("/:") and opens[0]["file"].endswith("/second"), opens)
        self.assertEqual(len(server.ask("opens").stdout.splitlines()), 3)
        for what in ("sessions", "locks", "delegations"):
            self.assertEqual(server.ask(what).stdout, f"  No {what}.\n")
        report = json.loads(server.status("--json").stdout)
        self.assertEqual((report["nfs4"]["clients"], report["nfs4"]["opens"]), (2, 2))
        self.assertEqual({o["operation"]: o["calls"] for o in report["operations"]}["OPEN"], 2)
        self.assertIn("NFSv4 clients 2, courteous 0, sessions 0; opens 2,", server.status().stdout)

        done = server.ask("client", "revoke", first)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"braid client revoke: client {first} speaks NFSv4.0, which cannot tell it that something "
                             "is revoked; evict it\n"))
        done = server.ask("client", "evict", first)
        self.assertEqual((done.returncode, done.stdout), (0, f"Client {first} is forgotten.\n"))
        server.await_log(f"client_gone client={first} ")
        self.assertIn("reason=evicted", server.log())
        self.assertEqual([c["id"] for c in json.loads(server.ask("clients", "--json").stdout)["clients"]], [second])
        done = server.ask("client", "evict", first)
        self.assertEqual((done.returncode, done.stderr), (1, f"braid client evict: there is no client {first}; braid clients "
                                                       "lists them\n"))

    def test_the_grace_period_is_shown_and_logged(self):
        self.make_file("file")
        server = self.serve()
        self.assertFalse(json.loads(server.status("--json").stdout)["nfs4"]["grace"])
        server.open_40(b"file")
        server.end()
        again = self.serve()
        again.await_log("grace_began clients=1 seconds=90")
        report = json.loads(again.status("--json").stdout)["nfs4"]
        self.assertEqual((report["grace"], report["reclaiming_clients"]), (True, 1))
        self.assertIn("Grace period: ", again.status().stdout)

    def test_who_has_not_reclaimed_is_named_and_waited_for_no_longer(self):
        self.make_file("file")
        server = self.serve()
        done = server.ask("grace", "end")
        self.assertEqual((done.returncode, done.stderr), (1, "braid grace end: there is no grace period\n"))
        server.open_40(b"file")
        server.end()
        again = self.serve()
        again.await_log("grace_began clients=1 seconds=90")
        self.assertIn("\n  waiting for file, NFSv4.0\n", again.status().stdout)
        done = again.ask("grace", "end")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "The grace period is over.\nThese clients had not reclaimed, and what they held may be "
                             "given to others:\n  file\n"))
        self.assertFalse(json.loads(again.status("--json").stdout)["nfs4"]["grace"])
        again.await_log("grace_ended clients_missing=1")

    def test_a_client_is_named_by_its_name_and_files_by_a_part(self):
        for name in ("alpha", "beta"):
            self.make_file(name)
        server = self.serve()
        ids = {name: server.open_40(name.encode()) for name in ("alpha", "beta")}
        server.await_log(f"client_arrived client={ids['alpha']} peer=127.0.0.1:")
        self.assertIn('minor_version=0 name="alpha"', server.log())
        opens = json.loads(server.ask("opens", "--client", "alpha", "--json").stdout)["opens"]
        self.assertEqual([line["client"] for line in opens], [ids["alpha"]])
        opens = json.loads(server.ask("opens", "--file", "/bet", "--json").stdout)["opens"]
        self.assertEqual([line["client"] for line in opens], [ids["beta"]])
        done = server.ask("locks", "--client", "127.0.0.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("127.0.0.1 may be 2 clients; name one by its id", done.stderr)
        done = server.ask("locks", "--client", "0x77")
        self.assertEqual((done.returncode, done.stderr),
                         (1, "braid locks: there is no client 0x77; braid clients lists them\n"))
        self.assertEqual(server.ask("client", "evict", "beta").stdout, f"Client {ids['beta']} is forgotten.\n")

    def test_a_refused_mount_has_a_line(self):
        server = self.serve("--config", self.config(self.export_text("a")))
        server.compound_status(struct.pack(">I", OP_PUTROOTFH), struct.pack(">I", OP_LOOKUP) + opaque(b"x\ny"))
        server.await_log("mount_refused client=127.0.0.1 path=/x\\x0ay status=NFS4ERR_NOENT version=4.0\n")

    def test_without_a_server_each_command_fails_with_one_line(self):
        socket_path = os.path.join(self.scratch, "none.sock")
        for command in (("clients",), ("sessions",), ("opens",), ("locks",), ("delegations",), ("client", "evict", "0x1"),
                        ("client", "revoke", "0x1")):
            done = run(*command, "--admin", socket_path)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr, f"braid {' '.join(command[:2]) if len(command) > 1 else command[0]}: "
                                          f"no server answers on {socket_path}: No such file or directory\n")

    def test_every_command_is_described(self):
        with open(os.path.join(ROOT, "docs/admin-socket.md"), encoding="utf-8") as file:
            text = file.read()
        server = self.serve()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect(server.admin)
            connection.sendall(b'{"command":"?"}\n')
            answer = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
        commands = answer["error"].partition("known: ")[2].split()
        self.assertGreaterEqual(len(commands), 8)
        for command in commands:
            self.assertIn(f"`{command}`", text)


class Output(ProcessTest):
    """Commands whose output goes nowhere."""

    def test_what_cannot_be_written_is_an_error(self):
        server = self.serve()
        for command in (("--version",), ("--help",), ("status", "--admin", server.admin),
                        ("clients", "--admin", server.admin)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BRAID, *command], stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=PATIENCE_S, check=False)
            self.assertEqual((done.returncode, done.stderr),
                             (1, "braid: cannot write to standard output: No space left on device\n"))

    def test_a_closed_pipe_ends_each_command_without_a_word(self):
        server = self.serve()
        for command in (("--help",), *((name, "--admin", server.admin)
                                       for name in ("status", "clients", "sessions", "opens", "locks", "delegations"))):
            for restore in (True, False):  # SIGPIPE as a shell leaves it, or ignored, as under some supervisors
                reading, writing = os.pipe()
                os.close(reading)
                done = subprocess.run([BRAID, *command], stdout=writing, stderr=subprocess.PIPE, text=True,
                                      timeout=PATIENCE_S, check=False, restore_signals=restore)
                os.close(writing)
                self.assertEqual(done.stderr, "")
                self.assertIn(done.returncode, (1, -signal.SIGPIPE))


class Metrics(ProcessTest):
    def setUp(self):
        super().setUp()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=PATIENCE_S) as response:
            return response.read().decode()

    def test_calls_and_resources_are_counted(self):
        server = self.serve(self.directory, "--metrics", self.address)
        server.call(NFS, 3, 0)
        text = self.get("/metrics")
        self.assertIn('braid_rpc_latency_seconds_count{program="nfs",version="3",procedure="NULL"} 1\n', text)
        for name in ("braid_rpc_errors_total", "braid_rpc_received_bytes_total", "braid_rpc_sent_bytes_total",
                     "braid_blocking_jobs_total", "braid_slab_bytes", "braid_open_files", "braid_handle_cache_hits",
                     "braid_handle_cache_misses", "braid_inline_stalls", "braid_lock_entries_max", "braid_connections",
                     "braid_reactor_turns_total", "process_resident_memory_bytes"):
            self.assertIn(f"\n# TYPE {name} ", text)
        server.compound(struct.pack(">I", OP_PUTROOTFH))
        text = self.get("/metrics")
        self.assertIn('braid_nfs4_operations_total{operation="PUTROOTFH"} 1\n', text)
        self.assertIn('braid_nfs4_operation_seconds_count{operation="PUTROOTFH"} 1\n', text)
        self.assertIn('braid_nfs4_operation_errors_total{operation="PUTROOTFH"} 0\n', text)
        for line in ('braid_nfs4_clients_gone_total{reason="evicted"} 0', 'braid_nfs4_states{kind="open"} 0',
                     "braid_nfs4_sessions 0", "braid_nfs4_courteous_clients 0", "braid_nfs4_grace 0"):
            self.assertIn(line + "\n", text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) \w+ .*|\w+(\{[^}]*\})? [0-9.e+-]+)$")
        self.assertEqual(self.get("/healthz"), "ok\n")
        with self.assertRaises(urllib.error.HTTPError) as missing:
            self.get("/other")
        self.assertEqual(missing.exception.code, 404)

    def test_an_address_in_use_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            done = run("serve", self.directory, "--port", "0", "--state", self.scratch, "--metrics",
                       f"127.0.0.1:{other.getsockname()[1]}")
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot serve metrics on 127.0.0.1:", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
