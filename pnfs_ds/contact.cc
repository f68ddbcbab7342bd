#include "pnfs_ds/contact.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace braid::pnfs_ds {

bool Contact::answered(base::TimePoint sent, const pnfs::ClusterId& cluster,
                       const pnfs::HEARTBEATres& answer) {
  constexpr std::uint32_t number_max = std::numeric_limits<pnfs::KeyNumber::rep>::max();
  if (answer.key_newest > number_max || answer.key_oldest > answer.key_newest ||
      answer.key_newest - answer.key_oldest >= keys_max)
    return false;
  const base::Duration patience = std::chrono::milliseconds(answer.good_for_ms);
  if (patience > patience_max) return false;
  {
    const std::scoped_lock lock(mutex_);
    if (cluster_ != cluster) codecs_.clear();
    cluster_ = cluster;
    std::erase_if(codecs_, [&](const auto& one) {
      return one.first.value() < answer.key_oldest || one.first.value() > answer.key_newest;
    });
    for (std::uint32_t number = answer.key_oldest; number <= answer.key_newest; ++number) {
      const pnfs::KeyNumber key(static_cast<pnfs::KeyNumber::rep>(number));
      auto& codec = codecs_[key];
      if (codec == nullptr)
        codec = std::make_shared<const pnfs::DataHandleCodec>(secret_.handle_key(cluster, key), key, server_);
    }
  }
  // Answers may overtake each other.
  const base::Duration::rep until = (sent + patience).time_since_epoch().count();
  base::Duration::rep known = until_.load(std::memory_order_relaxed);
  while (known < until && !until_.compare_exchange_weak(known, until, std::memory_order_acq_rel)) {
  }
  return true;
}

std::shared_ptr<const pnfs::DataHandleCodec> Contact::codec(pnfs::KeyNumber number) const {
  const std::shared_lock lock(mutex_);
  const auto found = codecs_.find(number);
  return found == codecs_.end() ? nullptr : found->second;
}

pnfs::ClusterId Contact::cluster() const {
  const std::shared_lock lock(mutex_);
  return cluster_;
}

}  // namespace braid::pnfs_ds
