// How calls become procedures: undecodable arguments, suspension, the table.
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "tests/unit/nfs3/harness.h"
#include "tests/unit/rpc/loop.h"

namespace braid::nfs3::test {
namespace {

using enum NFS_V3_procedure;
using enum nfsstat3;
using vfs::FileType;

class Glue : public Nfs3Test {
 protected:
  std::uint64_t file_ = storage_->add(Storage::root_id, "f", FileType::regular, "0123456789");

  // Good arguments of each procedure, in the order of their numbers.
  std::vector<base::Bytes> all_arguments() {
    const diropargs3 name{root_fh(), "name"};
    const mknoddata3 device = mknoddata3::with_device(ftype3::NF3BLK, {{}, {1, 2}});
    return {{},
            encoded(GETATTR3args{fh(file_)}),
            encoded(SETATTR3args{fh(file_), {}, {}}),
            encoded(LOOKUP3args{name}),
            encoded(ACCESS3args{fh(file_), 1}),
            encoded(READLINK3args{fh(file_)}),
            encoded(READ3args{fh(file_), 0, 1}),
            encoded(WRITE3args{fh(file_), 0, 1, stable_how::UNSTABLE, payload_of(base::bytes_of("x"))}),
            encoded(CREATE3args{name, {}}),
            encoded(MKDIR3args{name, {}}),
            encoded(SYMLINK3args{name, {{}, "target"}}),
            encoded(MKNOD3args{name, device}),
            encoded(REMOVE3args{name}),
            encoded(RMDIR3args{name}),
            encoded(RENAME3args{name, name}),
            encoded(LINK3args{fh(file_), name}),
            encoded(READDIR3args{root_fh(), 0, {}, 1000}),
            encoded(READDIRPLUS3args{root_fh(), 0, {}, 1000, 1000}),
            encoded(FSSTAT3args{root_fh()}),
            encoded(FSINFO3args{root_fh()}),
            encoded(PATHCONF3args{root_fh()}),
            encoded(COMMIT3args{fh(file_), 0, 0})};
  }
};

// Who holds a delegation gives it back within milliseconds.
TEST_F(Glue, what_is_delayed_is_tried_again_before_the_client_is_told_to_come_back) {
  using namespace std::chrono_literals;
  const base::SystemClock clock;
  const base::Bytes args =
      encoded(WRITE3args{fh(file_), 0, 1, stable_how::UNSTABLE, payload_of(base::bytes_of("x"))});
  for (const std::size_t delays : {0U, 2U, 100U}) {
    SCOPED_TRACE(delays);
    recorder_.calls.clear();
    std::unique_ptr<RunningCall> running;
    rpc::test::Loop loop(clock);
    loop.run([&]() -> io::Op<> {
      recorder_.fail("write", vfs::Error::delay);
      if (delays == 0) recorder_.fail("write", std::nullopt);
      running = start(NFSPROC3_WRITE, args);
      while (!running->done()) {
        if (count("write") >= delays) recorder_.fail("write", std::nullopt);
        co_await loop.reactor().sleep(1ms);
      }
    });
    const bool comes_through = delays < 100;
    EXPECT_EQ(decoded<WRITE3res>(running->answered()).status, comes_through ? NFS3_OK : NFS3ERR_JUKEBOX);
    EXPECT_EQ(count("write"), comes_through ? delays + 1 : 9);
  }
}

TEST_F(Glue, arguments_that_end_too_early_are_garbage_wherever_they_end) {
  const auto arguments = all_arguments();
  ASSERT_EQ(arguments.size(), 22U);
  for (std::uint32_t procedure = 1; procedure < arguments.size(); ++procedure) {
    for (std::size_t bytes = 0; bytes < arguments[procedure].size(); ++bytes) {
      const base::BytesView cut(arguments[procedure].data(), bytes);
      const Answered answered = call(static_cast<NFS_V3_procedure>(procedure), cut);
      EXPECT_EQ(answered.answer, rpc::Answer::garbage_args)
          << "procedure " << procedure << ", " << bytes << " bytes";
      EXPECT_TRUE(answered.results.empty());
    }
  }
  EXPECT_TRUE(recorder_.calls.empty());
}

TEST_F(Glue, bytes_after_the_arguments_are_ignored) {
  const auto arguments = all_arguments();
  for (std::uint32_t procedure = 0; procedure < arguments.size(); ++procedure) {
    base::Bytes longer = arguments[procedure];
    longer.resize(longer.size() + 8, std::byte{0xee});
    EXPECT_EQ(call(static_cast<NFS_V3_procedure>(procedure), longer).answer, rpc::Answer::success);
  }
}

TEST_F(Glue, values_that_the_protocol_does_not_define_are_garbage) {
  base::Bytes write = encoded(WRITE3args{fh(file_), 0, 0, stable_how::FILE_SYNC, {}});
  write[write.size() - 5] = std::byte{3};  // stable_how
  EXPECT_EQ(call(NFSPROC3_WRITE, write).answer, rpc::Answer::garbage_args);
  base::Bytes setattr = encoded(SETATTR3args{fh(file_), {}, {}});
  setattr.back() = std::byte{2};  // the guard's bool
  EXPECT_EQ(call(NFSPROC3_SETATTR, setattr).answer, rpc::Answer::garbage_args);
  EXPECT_TRUE(recorder_.calls.empty());
}

TEST_F(Glue, a_handle_or_name_with_an_absurd_length_is_garbage) {
  EXPECT_EQ(call(NFSPROC3_GETATTR, hex("00000041")).answer, rpc::Answer::garbage_args);
  EXPECT_EQ(call(NFSPROC3_GETATTR, hex("fffffffc")).answer, rpc::Answer::garbage_args);
  base::Bytes lookup = encoded(LOOKUP3args{{root_fh(), ""}});
  for (std::size_t i = 1; i <= 4; ++i) lookup[lookup.size() - i] = std::byte{0xff};
  EXPECT_EQ(call(NFSPROC3_LOOKUP, lookup).answer, rpc::Answer::garbage_args);
}

TEST_F(Glue, a_procedure_that_waits_at_every_step_answers_the_same) {
  const auto arguments = all_arguments();
  for (std::uint32_t number = 1; number < arguments.size(); ++number) {
    const auto procedure = static_cast<NFS_V3_procedure>(number);
    const auto world = [&] {
      empty_main();
      storage_->add(Storage::root_id, "f", FileType::regular, "0123456789");
      storage_->add(Storage::root_id, procedure == NFSPROC3_RMDIR ? "name" : "other", FileType::directory);
    };
    world();
    const Answered at_once = call(procedure, arguments[number]);
    world();
    recorder_.park(true);
    const auto running = start(procedure, arguments[number]);
    int waits = 0;
    for (; !running->done() && waits < 10; ++waits) {
      ASSERT_EQ(recorder_.parked(), 1U);
      recorder_.resume_one();
      queue_.run(100);
    }
    EXPECT_GE(waits, 1) << "procedure " << number;
    const Answered later = running->answered();
    EXPECT_EQ(later.answer, at_once.answer);
    EXPECT_EQ(later.status, at_once.status);
    EXPECT_EQ(to_hex(later.results), to_hex(at_once.results)) << "procedure " << number;
  }
}

TEST_F(Glue, the_status_reported_to_metrics_is_that_of_the_reply) {
  EXPECT_EQ(call(NFSPROC3_GETATTR, encoded(GETATTR3args{fh(file_)})).status, 0U);
  EXPECT_EQ(call(NFSPROC3_GETATTR, encoded(GETATTR3args{fh(99)})).status, 70U);
}

TEST_F(Glue, a_reply_without_memory_is_system_err) {
  const base::Bytes args = encoded(GETATTR3args{fh(file_)});
  recorder_.park(true);
  const auto running = start(NFSPROC3_GETATTR, args);
  std::vector<io::SlabRef> held;
  while (auto slab = pool_.acquire(io::SlabSize::small)) held.push_back(std::move(*slab));
  while (!running->done()) {
    recorder_.resume_one();
    queue_.run(100);
  }
  held.clear();
  EXPECT_EQ(running->answered().answer, rpc::Answer::system_err);
}

TEST_F(Glue, the_exports_of_a_running_call_stay_while_they_are_replaced) {
  const base::Bytes args = encoded(GETATTR3args{fh(file_)});
  recorder_.park(true);
  const auto running = start(NFSPROC3_GETATTR, args);
  withdraw_exports();
  const std::weak_ptr<MemoryFileSystem> alive = fs_;
  main_.file_system.reset();
  fs_.reset();
  EXPECT_FALSE(alive.expired());
  while (!running->done()) {
    recorder_.resume_one();
    queue_.run(100);
  }
  EXPECT_EQ(running->answered().status, 0U);
  EXPECT_TRUE(alive.expired()) << "and no longer than the call";
}

TEST_F(Glue, exactly_the_procedures_that_must_not_run_twice_are_kept_for_replay) {
  std::set<std::string> cached;
  for (const rpc::Procedure& procedure : service_->program().versions.front().procedures) {
    EXPECT_NE(procedure.handler, nullptr) << procedure.name;
    if (procedure.replay == rpc::Replay::cached) cached.emplace(procedure.name);
  }
  EXPECT_EQ(cached, (std::set<std::string>{"SETATTR", "CREATE", "MKDIR", "SYMLINK", "MKNOD", "REMOVE",
                                           "RMDIR", "RENAME", "LINK"}));
}

TEST_F(Glue, programs_have_the_numbers_of_the_rfc) {
  const rpc::Program nfs = service_->program();
  EXPECT_EQ(nfs.number, 100003U);
  ASSERT_EQ(nfs.versions.size(), 1U);
  EXPECT_EQ(nfs.versions.front().number, 3U);
  EXPECT_EQ(nfs.versions.front().procedures.size(), 22U);
  const rpc::Program mounting = mounts_.program();
  EXPECT_EQ(mounting.number, 100005U);
  ASSERT_EQ(mounting.versions.size(), 1U);
  EXPECT_EQ(mounting.versions.front().number, 3U);
  EXPECT_EQ(mounting.versions.front().procedures.size(), 6U);
}

TEST_F(Glue, each_name_in_the_table_is_that_of_its_number) {
  const auto procedures = service_->program().versions.front().procedures;
  for (std::uint32_t number = 0; number < procedures.size(); ++number)
    EXPECT_EQ("NFSPROC3_" + std::string(procedures[number].name),
              name_of(static_cast<NFS_V3_procedure>(number)));
  const auto mounting = mounts_.program().versions.front().procedures;
  for (std::uint32_t number = 0; number < mounting.size(); ++number)
    EXPECT_EQ("MOUNTPROC3_" + std::string(mounting[number].name),
              name_of(static_cast<MOUNT_V3_procedure>(number)));
}

TEST_F(Glue, no_reply_is_larger_than_its_row_says) {
  const auto big =
      storage_->add(Storage::root_id, "big", FileType::regular, std::string(2 * MAX_PAYLOAD, 'b'));
  for (int i = 0; i < 3000; ++i) storage_->add(Storage::root_id, std::to_string(i), FileType::regular);
  auto arguments = all_arguments();
  arguments[6] = encoded(READ3args{fh(big), 0, 0xffff'ffff});
  arguments[16] = encoded(READDIR3args{root_fh(), 0, {}, 0xffff'ffff});
  arguments[17] = encoded(READDIRPLUS3args{root_fh(), 0, {}, 0xffff'ffff, 0xffff'ffff});
  const auto procedures = service_->program().versions.front().procedures;
  for (std::uint32_t number = 0; number < arguments.size(); ++number) {
    const Answered answered = call(static_cast<NFS_V3_procedure>(number), arguments[number]);
    EXPECT_LE(answered.results.size(), procedures[number].reply_bytes_max) << procedures[number].name;
  }
}

}  // namespace
}  // namespace braid::nfs3::test
