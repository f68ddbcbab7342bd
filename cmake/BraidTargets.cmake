# braid_unity(TARGET): with BRAID_UNITY, the sources of a target are compiled in batches. A batch is large enough to share
# its headers, and small enough that one changed source costs seconds. Sources with flags of their own stay alone.
function(braid_unity target)
  if(BRAID_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 48)
  endif()
endfunction()

# braid_library(NAME SOURCES a.cc ... DEPS braid::base ...): one library per folder, named braid_NAME, alias braid::NAME.
function(braid_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(braid_${name} STATIC ${ARG_SOURCES})
  add_library(braid::${name} ALIAS braid_${name})
  target_link_libraries(braid_${name} PUBLIC ${ARG_DEPS} PRIVATE braid_flags)
  target_include_directories(braid_${name} PUBLIC "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")
  braid_unity(braid_${name})
endfunction()

# braid_test_library(NAME ...): as braid_library, for simulators, fakes and fault injectors: tests and benchmarks link it, no
# other library and not the server. It is built when something that links it is.
function(braid_test_library name)
  braid_library(${name} ${ARGN})
  set_target_properties(braid_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
endfunction()

# braid_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT SECONDS] [OPTIMISED] [EXHAUSTIVE PATTERN...] [ONE_THREAD PATTERN...]):
# a Google Test program, run as one ctest; those with the longest limits begin first. Without BRAID_UNIT_TESTS, only a
# program that is OPTIMISED is built and run: a build with sanitizers lacks what it tests (allocations, plants, benchmarks), or
# compiles it differently (vector instructions). Tests that a pattern of EXHAUSTIVE matches look at each case of many, or
# whether planted mistakes are found, which is the same in every build: with sanitizers, they are left out. With
# ThreadSanitizer, a program with the label `single_threaded` is built only by name, and tests that a pattern of ONE_THREAD
# matches are left out: they have one thread, or the threads of others that run. What runs on each kind of file system has
# the same threads on all of them: with ThreadSanitizer it runs on ext4.
function(braid_test name)
  cmake_parse_arguments(ARG "OPTIMISED" "TIMEOUT" "SOURCES;DEPS;LABELS;EXHAUSTIVE;ONE_THREAD" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} braid_flags GTest::gmock GTest::gtest_main)
  braid_unity(${name})
  if(TARGET braid_test_headers)
    target_precompile_headers(${name} REUSE_FROM braid_test_headers)
  endif()
  if(BRAID_SANITIZE STREQUAL "thread" AND "single_threaded" IN_LIST ARG_LABELS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(NOT BRAID_UNIT_TESTS)
    if(NOT ARG_OPTIMISED)
      set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      return()
    endif()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL OFF)  # its folder is excluded
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}")
  set(left_out)
  if(BRAID_SANITIZE)
    set(left_out ${ARG_EXHAUSTIVE})
  endif()
  if(BRAID_SANITIZE STREQUAL "thread")
    list(APPEND left_out ${ARG_ONE_THREAD} */tmpfs */xfs */btrfs)
  endif()
  if(left_out)
    list(JOIN left_out ":" left_out)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=-${left_out}")
  endif()
endfunction()

# braid_program_test(NAME COMMAND ... [TIMEOUT SECONDS] [RELEASE] [NO_SANITIZERS]): a test, label `unit`, that starts programs
# of the build. Without BRAID_UNIT_TESTS (a build with sanitizers runs it then) it is left out, unless it is marked RELEASE:
# it looks at what sanitizers change, memory for instance. NO_SANITIZERS: it tests files and commands around the program.
function(braid_program_test name)
  cmake_parse_arguments(ARG "RELEASE;NO_SANITIZERS" "TIMEOUT" "COMMAND" ${ARGN})
  if((NOT BRAID_UNIT_TESTS AND NOT ARG_RELEASE AND NOT ARG_NO_SANITIZERS)
     OR (BRAID_SANITIZE AND ARG_NO_SANITIZERS))
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} LABELS unit)
endfunction()

# braid_bench(TARGET): a benchmark that no test needs. It is built by name, or with all others by the target `bench`.
add_custom_target(bench)
function(braid_bench target)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
  add_dependencies(bench ${target})
endfunction()

# braid_xdr(TARGET DIR FILE.x ...): compiles XDR files of folder DIR into the build tree as DIR/FILE.x.h and DIR/FILE.x.cc
# and adds them to TARGET. Included as "DIR/FILE.x.h". The target `generated` makes these files and nothing else.
add_custom_target(generated)
function(braid_xdr target)
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  file(RELATIVE_PATH dir "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(made)
  foreach(file ${ARG_FILES})
    set(in "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    set(out "${CMAKE_BINARY_DIR}/${dir}/${file}")
    add_custom_command(
      OUTPUT "${out}.h" "${out}.cc"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/${dir}"
      COMMAND xdrc --input "${in}" --include-as "${dir}/${file}" --output "${out}" --depfile "${out}.d"
      DEPENDS xdrc "${in}"
      DEPFILE "${out}.d"
      COMMENT "xdrc ${dir}/${file}" VERBATIM)
    target_sources(${target} PRIVATE "${out}.cc" "${out}.h")
    list(APPEND made "${out}.cc" "${out}.h")
  endforeach()
  add_custom_target(${target}_xdr DEPENDS ${made})
  add_dependencies(generated ${target}_xdr)
endfunction()
