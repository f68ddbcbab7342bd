// Nodes and roots of recipes: what is taken is sound, and is what is made of it again.
#include <cstdint>
#include <span>

#include "base/assert.h"
#include "store/chunks/node.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace braid;
  const base::BytesView bytes = std::as_bytes(std::span(data, size));
  if (const auto node = store::decode_node(bytes)) {
    base::check(store::is_sound(*node), "what is taken is sound");
    base::check(base::equal(store::encode(*node), bytes), "there is one way to write a node");
    base::check(store::named_bytes(store::ChunkKind::node, bytes).has_value(), "it has a name");
  }
  if (const auto root = store::decode_root(bytes)) {
    base::check(base::equal(store::encode(*root), bytes), "there is one way to write a root");
    base::check(store::named_bytes(store::ChunkKind::root, bytes).has_value(), "it has a name");
  }
  for (const auto kind : {store::ChunkKind::data, store::ChunkKind::node, store::ChunkKind::root})
    if (const auto named = store::named_bytes(kind, bytes))
      base::check(named->size() <= bytes.size(), "a name is of bytes that are there");
  return 0;
}
