#include "nfs4/compound/place.h"

#include "nfs4/pseudo/pseudo_tree.h"

namespace braid::nfs4 {

bool Place::export_root() const {
  return from != nullptr && file->handle() == from->file_system->root()->handle();
}

base::BytesView Place::handle() const {
  if (node != nullptr) return node->handle;
  return file->handle().view();
}

}  // namespace braid::nfs4
