#include "store/medium/medium.h"

namespace braid::store {

base::Result<void> File::write_all(std::uint64_t offset, std::span<const base::BytesView> parts) {
  base::Bytes all;
  for (const base::BytesView part : parts) all.insert(all.end(), part.begin(), part.end());
  return write(offset, all);
}

base::Result<base::Bytes> read_small(Medium& medium, const std::string& name, std::size_t bytes_max) {
  const auto file = medium.open(name, OpenFor::reading);
  if (!file) return base::fail(file.error());
  const auto now = (*file)->status();
  if (!now) return base::fail(now.error());
  if (now->size > bytes_max) return base::fail(EFBIG);
  base::Bytes out(static_cast<std::size_t>(now->size));
  const auto got = (*file)->read(0, out);
  if (!got) return base::fail(got.error());
  out.resize(*got);
  return out;
}

base::Result<void> replace_small(Medium& medium, const std::string& name, base::BytesView content) {
  const std::string fresh_name = name + ".new";
  if (auto removed = medium.remove(fresh_name); !removed) return removed;
  auto fresh = medium.open(fresh_name, OpenFor::creating);
  if (!fresh) return base::fail(fresh.error());
  base::Result<void> done = (*fresh)->write(0, content);
  if (done) done = (*fresh)->sync();
  if (done) done = medium.rename(fresh_name, name);
  if (done) done = medium.sync_directory("");
  return done;
}

}  // namespace braid::store
