#include <string>

#include "tests/fuzz/nfs4_state/arguments.h"

namespace braid::nfs4::fuzz {

using enum nfs_opnum4;
using test::Request;

// Filehandles and names.
bool add_name(Request& request, nfs_opnum4 operation, Bytes& bytes, const Registers& from) {
  switch (operation) {
    case OP_PUTFH: {
      const std::string handle = from.handle(bytes);
      request.add(operation, PUTFH4args{base::bytes_of(handle)});
      return true;
    }
    case OP_LOOKUP:
      request.add(operation, LOOKUP4args{bytes.of(names)});
      return true;
    case OP_SECINFO:
      request.add(operation, SECINFO4args{bytes.of(names)});
      return true;
    case OP_SECINFO_NO_NAME:
      request.add(operation, SECINFO_NO_NAME4args{bytes.flag() ? secinfo_style4::SECINFO_STYLE4_PARENT
                                                               : secinfo_style4::SECINFO_STYLE4_CURRENT_FH});
      return true;
    case OP_REMOVE:
      request.add(operation, REMOVE4args{bytes.of(names)});
      return true;
    case OP_LINK:
      request.add(operation, LINK4args{bytes.of(names)});
      return true;
    case OP_RENAME:
      request.add(operation, RENAME4args{bytes.of(names), bytes.of(names)});
      return true;
    case OP_CREATE: {
      constexpr nfs_ftype4 types[] = {nfs_ftype4::NF4LNK, nfs_ftype4::NF4DIR, nfs_ftype4::NF4SOCK,
                                      nfs_ftype4::NF4FIFO};
      CREATE4args args;
      args.objname = bytes.of(names);
      const Attributes attributes(bytes);
      args.createattrs = attributes.value;
      const nfs_ftype4 type = bytes.of(types);
      args.objtype = type == nfs_ftype4::NF4LNK ? createtype4::with_linkdata(bytes.of(names))
                                                : createtype4::with_NF4SOCK(type);
      request.add(operation, args);
      return true;
    }
    case OP_READDIR: {
      static constexpr std::array<std::uint32_t, 2> wanted{0x0018'0b9a, 0x0030'a03a};
      READDIR4args args;
      args.cookie = bytes.byte() % 16;
      args.cookieverf = args.cookie == 0 ? verifier4{} : from.verifiers.at(bytes.byte());
      args.dircount = bytes.of(counts);
      args.maxcount = bytes.of(counts);
      args.attr_request = wanted;
      request.add(operation, args);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace braid::nfs4::fuzz
