# Language level, warnings and the build kinds that CMakePresets.json selects.
option(BRAID_TESTS "Build the tests" ON)
option(BRAID_UNIT_TESTS "Build all unit tests, not only those that need a build without sanitizers" ON)
option(BRAID_BENCH "Build the benchmarks" ON)
option(BRAID_FUZZ "Build the libFuzzer targets (clang only)" OFF)
# A target's sources are compiled several at a time, as one translation unit: most of the time goes into headers, and each
# is then read once. Without it, one changed source is compiled alone, and a missing #include is noticed.
option(BRAID_UNITY "Compile the sources of each target in batches" OFF)
set(BRAID_SANITIZE "" CACHE STRING "Comma-separated sanitizers, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# Clang takes its memory in small pieces: with huge pages for them, asked for in large steps, it takes 0.9 of the time. g++
# has a memory of its own.
set(CMAKE_CXX_COMPILER_LAUNCHER env GLIBC_TUNABLES=glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864)
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # What one clone has compiled serves the others, too: no path of a clone gets into an object. Without these sloppinesses
  # it keeps nothing that was compiled with a precompiled header; no source has macros of the time.
  list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# Paths in debug information and messages are those below the source tree, whichever clone it is.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

add_library(braid_flags INTERFACE)
set(BRAID_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Wnull-dereference -Wimplicit-fallthrough -Werror)
# libstdc++ 12 itself uses what C++23 deprecates (std::get_temporary_buffer in stable_sort); g++ warns of our own uses. g++
# finds zeros as pointers in what it makes of a coroutine.
set(BRAID_CLANG_WARNINGS -Wno-deprecated-declarations -Wzero-as-null-pointer-constant)
target_compile_options(braid_flags INTERFACE ${BRAID_WARNINGS})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # When it optimises, g++ 12 reports null dereferences, uninitialised uses and overflows inside std::variant,
  # std::vector and coroutine frames that do not exist; clang and the sanitizers look for the real ones.
  target_compile_options(braid_flags INTERFACE -fcoroutines -Wno-null-dereference -Wno-maybe-uninitialized
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
  if(BRAID_UNITY)
    # g++ 12 warns of local types in coroutine frames wherever the coroutine is not in the file that it was called with.
    target_compile_options(braid_flags INTERFACE -Wno-subobject-linkage)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(braid_flags INTERFACE ${BRAID_CLANG_WARNINGS})
  # Programs with sanitizers are large; lld links them in a quarter of the time.
  find_program(BRAID_LLD NAMES ld.lld-19)
  if(BRAID_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
if(BRAID_SANITIZE)
  add_compile_options(-fsanitize=${BRAID_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(BRAID_SANITIZE MATCHES "address")
    # A call for each checked access in place of the check itself: a fifth less to compile. What object-size would find,
    # AddressSanitizer finds.
    add_compile_options("SHELL:-mllvm -asan-instrumentation-with-call-threshold=0" -fno-sanitize=object-size)
  endif()
  add_link_options(-fsanitize=${BRAID_SANITIZE})
endif()
if(BRAID_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage feedback from every library
endif()
target_include_directories(braid_flags INTERFACE "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
target_compile_definitions(braid_flags INTERFACE _GNU_SOURCE SPDLOG_FMT_EXTERNAL SPDLOG_COMPILED_LIB
  BRAID_VERSION="${PROJECT_VERSION}")
