// In place of the server's sources of contents: one that has no file.
#include "server/run/content_sources.h"

#include <memory>

#include "vfs/content.h"

namespace braid::server::run {
namespace {

class NullSource final : public vfs::ContentSource {
 public:
  [[nodiscard]] std::string_view record() const override { return "trusted.braid.null"; }
  vfs::VfsOp<vfs::ContentRef> load(vfs::Stub& /*stub*/, base::BytesView /*record*/) override {
    return base::fail(vfs::Error::io);
  }
  vfs::VfsOp<vfs::ContentRef> place(vfs::Stub& /*stub*/, const vfs::ContentRef& former,
                                    const vfs::PlacementHint& /*hint*/) override {
    return vfs::ContentRef(former);
  }
  // Each new file is offered, and stays plain.
  [[nodiscard]] bool places_at_first_write() const override { return true; }
  vfs::VfsOp<> removing(vfs::Stub& /*stub*/, vfs::Content& /*content*/) override {
    return io::ready_op<vfs::Error>();
  }
  void gone(vfs::ContentRef /*content*/) override {}
  // What is written is the files' own, as without it.
  [[nodiscard]] bool takes_pipes() const override { return true; }
};

}  // namespace

ContentSources content_sources_of(const roles::nfs::Capabilities& /*capabilities*/) {
  const auto source = std::make_shared<NullSource>();
  return {.of = [source](const config::ExportConfig&) -> std::vector<vfs::ContentSource*> {
            return {source.get()};
          },
          .take_pipes = source->takes_pipes()};
}

}  // namespace braid::server::run
