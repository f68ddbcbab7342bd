#include "nfs4/idmap/id_map.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <utility>

#include "io/reactor.h"

namespace braid::nfs4 {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_domain(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::size_t IdMap::Hash::operator()(const Number& number) const {
  const std::array<std::uint32_t, 2> bytes{static_cast<std::uint32_t>(number.kind), number.id};
  return base::siphash24(key, std::as_bytes(std::span(bytes)));
}

std::size_t IdMap::Hash::operator()(const Name& name) const {
  return base::siphash24(key, base::bytes_of(name.text)) + static_cast<std::size_t>(name.kind);
}

IdMap::IdMap(IdMapOptions options, NameService& names, io::BlockingPool* pool, const base::SipKey& key)
    : options_(std::move(options)),
      names_(names),
      pool_(pool),
      texts_(std::in_place, options_.entries_max, Hash{key}),
      ids_(std::in_place, options_.entries_max, Hash{key}) {}

std::optional<std::string_view> IdMap::name_in_domain(std::string_view owner) const {
  const std::size_t at = owner.rfind('@');
  if (options_.domain.empty() || at == std::string_view::npos || at == 0) return std::nullopt;
  if (!same_domain(owner.substr(at + 1), options_.domain)) return std::nullopt;
  // A NUL would cut the name short where it is handed to the C library.
  if (owner.find('\0') != std::string_view::npos) return std::nullopt;
  return owner.substr(0, at);
}

IdOp<std::uint32_t> IdMap::id_of(IdKind kind, std::string_view owner, base::TimePoint now) {
  if (const auto number = number_of_owner(owner)) return *number;
  const auto text = owner.size() <= OwnerText::bytes_max ? name_in_domain(owner) : std::nullopt;
  if (!text) return base::fail(IdError::unknown);
  Name name{kind, std::string(*text)};
  if (const auto known = ids_.with([&](const Ids& ids) { return ids.find(name, now); })) {
    if (!*known) return base::fail(IdError::unknown);
    return **known;
  }
  return look_up_id(std::move(name), now);
}

IdOp<std::uint32_t> IdMap::look_up_id(Name name, base::TimePoint now) {
  using Answer = base::Result<std::optional<std::uint32_t>>;
  std::optional<Answer> answer;
  io::Reactor* const reactor = pool_ == nullptr ? nullptr : io::Reactor::current();
  if (reactor == nullptr)
    answer.emplace(names_.id_of(name.kind, name.text));
  else
    answer = co_await pool_->own().run(*reactor, io::BlockingReason::other,
                                       [this, &name] { return names_.id_of(name.kind, name.text); });
  if (!answer || !*answer) co_return base::fail(IdError::later);
  const std::optional<std::uint32_t> id = **answer;
  const auto expires = now + (id ? options_.found_for : options_.absent_for);
  ids_.with([&](Ids& ids) { ids.put(name, id, expires); });
  if (!id) co_return base::fail(IdError::unknown);
  co_return *id;
}

std::optional<OwnerText> IdMap::text_now(IdKind kind, std::uint32_t id, base::TimePoint now) const {
  if (!options_.send_names || options_.domain.empty()) return OwnerText::of_number(id);
  return texts_.with([&](const Texts& texts) { return texts.find({kind, id}, now); });
}

IdOp<OwnerText> IdMap::text_of(IdKind kind, std::uint32_t id, base::TimePoint now) {
  if (const auto known = text_now(kind, id, now)) return *known;
  return look_up_text({kind, id}, now);
}

IdOp<OwnerText> IdMap::look_up_text(Number number, base::TimePoint now) {
  std::optional<base::Result<std::optional<std::string>>> answer;
  io::Reactor* const reactor = pool_ == nullptr ? nullptr : io::Reactor::current();
  if (reactor == nullptr)
    answer.emplace(names_.name_of(number.kind, number.id));
  else
    answer = co_await pool_->own().run(*reactor, io::BlockingReason::other,
                                       [this, &number] { return names_.name_of(number.kind, number.id); });
  const bool told = answer && *answer;
  if (!told) co_return OwnerText::of_number(number.id);
  remember(number, **answer, now);
  co_return text_now(number.kind, number.id, now).value_or(OwnerText::of_number(number.id));
}

void IdMap::remember(const Number& number, const std::optional<std::string>& name, base::TimePoint now) {
  OwnerText text = OwnerText::of_number(number.id);
  if (name)
    if (const auto full = OwnerText::of(*name + "@" + options_.domain)) text = *full;
  const auto expires = now + (name ? options_.found_for : options_.absent_for);
  texts_.with([&](Texts& texts) { texts.put(number, text, expires); });
}

std::string domain_of_host() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return {};
  const std::string_view name(host.data());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  std::string domain(name.substr(dot + 1));
  std::ranges::transform(domain, domain.begin(), lower);
  return domain;
}

}  // namespace braid::nfs4
