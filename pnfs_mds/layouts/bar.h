// A client whose layouts were taken back, until its data servers refuse what it had.
#pragma once

#include <set>
#include <vector>

#include "pnfs/data_handle.h"
#include "pnfs/keys.h"
#include "pnfs/layout_record.h"
#include "pnfs_mds/layouts/layout_files.h"
#include "vfs/types.h"

namespace braid::pnfs_mds::layouts {

// To be destroyed without any lock.
class Bar {
 public:
  // What was granted to the client by number `last` or before is to be refused.
  Bar(pnfs::ClientTag client, pnfs::GrantNumber last) : client_(client), last_(last) {}
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  // Until then it may have written to the files.
  ~Bar() {
    for (const File& file : files_)
      if (file.writes) file.hold->end_writing();
  }

  // It had a layout of this file; before the bar is put.
  void add(const vfs::FileHandle& handle, const LayoutHold& hold, bool writes) {
    if (writes) hold->begin_writing();
    for (const pnfs::ServerNumber server : hold->record().servers) servers_.insert(server);
    files_.push_back({handle, hold, writes});
  }
  [[nodiscard]] pnfs::ClientTag client() const { return client_; }
  [[nodiscard]] pnfs::GrantNumber last() const { return last_; }
  [[nodiscard]] const std::set<pnfs::ServerNumber>& servers() const { return servers_; }
  template <class F>
  void each_file(F f) const {
    for (const File& file : files_) f(file.handle);
  }

 private:
  struct File {
    vfs::FileHandle handle;
    LayoutHold hold;
    bool writes = false;
  };
  const pnfs::ClientTag client_;
  const pnfs::GrantNumber last_;
  std::set<pnfs::ServerNumber> servers_;
  std::vector<File> files_;
};

}  // namespace braid::pnfs_mds::layouts
