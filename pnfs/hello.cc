#include "pnfs/hello.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/big_endian.h"

namespace braid::pnfs {
namespace {

void put_number(base::Bytes& out, std::uint32_t value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  base::store_be<std::uint32_t>(out, at, value);
}

void put_bytes(base::Bytes& out, base::BytesView bytes) {
  put_number(out, static_cast<std::uint32_t>(bytes.size()));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void fill_random(base::MutableBytes to) {
  // Up to 256 bytes getrandom(2) is not interrupted, and does not return fewer.
  const ssize_t got = ::getrandom(to.data(), to.size(), 0);
  base::check(got == static_cast<ssize_t>(to.size()), "the kernel gives random bytes");
}

bool is_zero(base::BytesView bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

// Everything that both sides have said before the proofs.
base::Bytes transcript_of(const control_hello& caller, const control_welcome& welcome) {
  base::Bytes out;
  put_bytes(out, bytes_of(caller));
  put_bytes(out, bytes_of(welcome.hello));
  put_number(out, welcome.revision);
  put_number(out, static_cast<std::uint32_t>(welcome.session >> 32U));
  put_number(out, static_cast<std::uint32_t>(welcome.session));
  return out;
}

// A proof of the one side is none for the other.
Mac proof_of(const ClusterSecret& secret, std::string_view side, base::BytesView transcript) {
  return sign(secret.proof_key(), {base::bytes_of(side), transcript});
}
constexpr std::string_view caller_side = "caller";
constexpr std::string_view called_side = "called";

}  // namespace

Introduction introduction_of(const control_hello& hello) {
  Introduction out{.role = hello.role,
                   .cluster = hello.cluster,
                   .server = hello.server,
                   .name = std::string(hello.name),
                   .addresses = {},
                   .signs_bulk = hello.signs_bulk};
  out.addresses.reserve(hello.addresses.size());
  for (const control_address& address : hello.addresses)
    out.addresses.push_back({std::string(address.netid), std::string(address.uaddr)});
  return out;
}

OwnHello::OwnHello(Introduction own, const Channel& channel) : own_(std::move(own)) {
  addresses_.reserve(own_.addresses.size());
  for (const Introduction::Address& address : own_.addresses)
    addresses_.push_back({.netid = address.netid, .uaddr = address.uaddr});
  hello_ = {.role = own_.role,
            .revision_min = CONTROL_REVISION_MIN,
            .revision_max = CONTROL_REVISION,
            .cluster = own_.cluster,
            .server = own_.server,
            .name = own_.name,
            .addresses = addresses_,
            .nonce = random_nonce(),
            .boot = channel.boot,
            .channel = channel.number,
            .signs_bulk = own_.signs_bulk};
}

base::Bytes bytes_of(const control_hello& hello) {
  base::Bytes out;
  put_number(out, static_cast<std::uint32_t>(hello.role));
  put_number(out, hello.revision_min);
  put_number(out, hello.revision_max);
  put_bytes(out, hello.cluster);
  put_bytes(out, hello.server);
  put_bytes(out, base::bytes_of(hello.name));
  put_number(out, static_cast<std::uint32_t>(hello.addresses.size()));
  for (const control_address& address : hello.addresses) {
    put_bytes(out, base::bytes_of(address.netid));
    put_bytes(out, base::bytes_of(address.uaddr));
  }
  put_bytes(out, hello.nonce);
  put_bytes(out, hello.boot);
  put_number(out, hello.channel);
  put_number(out, hello.signs_bulk ? 1 : 0);
  return out;
}

std::array<std::byte, NONCE_BYTES> random_nonce() {
  std::array<std::byte, NONCE_BYTES> nonce;
  fill_random(nonce);
  return nonce;
}

std::uint64_t random_session() {
  std::array<std::byte, 8> bytes;
  fill_random(bytes);
  return base::load_be<std::uint64_t>(bytes, 0);
}

std::array<std::byte, BOOT_VERIFIER_BYTES> random_boot() {
  std::array<std::byte, BOOT_VERIFIER_BYTES> boot;
  fill_random(boot);
  return boot;
}

control_status judge(const control_hello& ours, const control_hello& theirs) {
  if (theirs.revision_min > ours.revision_max || theirs.revision_max < ours.revision_min)
    return control_status::CONTROL_REVISION_MISMATCH;
  if (theirs.role == ours.role) return control_status::CONTROL_WRONG_ROLE;
  const control_hello& data = theirs.role == control_role::ROLE_DATA ? theirs : ours;
  if (is_zero(data.server)) return control_status::CONTROL_OTHER_SERVER;
  if (theirs.cluster != ours.cluster && !is_zero(data.cluster)) return control_status::CONTROL_OTHER_CLUSTER;
  return control_status::CONTROL_OK;
}

base::Result<Acquaintance, control_status> meet(const ClusterSecret& secret, const control_hello& ours,
                                                const control_welcome& welcome) {
  const base::Bytes transcript = transcript_of(ours, welcome);
  if (!equal(proof_of(secret, called_side, transcript), welcome.proof))
    return base::fail(control_status::CONTROL_REFUSED);
  if (const control_status fit = judge(ours, welcome.hello); fit != control_status::CONTROL_OK)
    return base::fail(fit);
  if (welcome.revision < ours.revision_min || welcome.revision > ours.revision_max)
    return base::fail(control_status::CONTROL_REVISION_MISMATCH);
  return Acquaintance{
      .prove = {.session = welcome.session, .proof = proof_of(secret, caller_side, transcript).bytes},
      .revision = welcome.revision,
      .session_key = secret.session_key(transcript),
      .signs_bulk = ours.signs_bulk || welcome.hello.signs_bulk};
}

base::Result<control_welcome, control_status> Reception::greet(const control_hello& ours,
                                                               const control_hello& theirs,
                                                               std::uint64_t session, std::string_view host,
                                                               base::TimePoint now) {
  if (const control_status fit = judge(ours, theirs); fit != control_status::CONTROL_OK)
    return base::fail(fit);
  while (!pending_.empty() && now - pending_.front().since >= patience) pending_.pop_front();
  const auto of_host = std::ranges::count(pending_, host, &Pending::host);
  if (pending_.size() >= pending_max || of_host >= std::ptrdiff_t{per_host_max})
    return base::fail(control_status::CONTROL_BUSY);
  control_welcome welcome{.hello = ours,
                          .revision = std::min(ours.revision_max, theirs.revision_max),
                          .session = session,
                          .proof = {}};
  base::Bytes transcript = transcript_of(theirs, welcome);
  welcome.proof = proof_of(secret_, called_side, transcript).bytes;
  pending_.push_back({session,
                      welcome.revision,
                      std::move(transcript),
                      introduction_of(theirs),
                      {theirs.boot, theirs.channel},
                      std::string(host),
                      now,
                      ours.signs_bulk || theirs.signs_bulk});
  return welcome;
}

std::optional<Reception::Admitted> Reception::admit(const PROVEargs& prove, base::TimePoint now) {
  const auto found = std::ranges::find(pending_, prove.session, &Pending::session);
  if (found == pending_.end()) return std::nullopt;
  Pending pending = std::move(*found);
  pending_.erase(found);
  if (now - pending.since >= patience ||
      !equal(proof_of(secret_, caller_side, pending.transcript), prove.proof))
    return std::nullopt;
  return Admitted{pending.revision, secret_.session_key(pending.transcript), std::move(pending.caller),
                  pending.channel, pending.signs_bulk};
}

}  // namespace braid::pnfs
