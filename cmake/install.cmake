# What `cmake --install build` puts where, and the Debian package that `cpack --config build/CPackConfig.cmake` makes
# of it. The program finds its files by its own place (base/config_path.cpp), so that the tree can be moved.
include(GNUInstallDirs)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests and benchmarks are not installed

add_custom_command(
  OUTPUT lockstep.1 lockstep.bash lockstep.zsh lockstep.fish
  COMMAND lockstep manual > lockstep.1
  COMMAND lockstep completion bash > lockstep.bash
  COMMAND lockstep completion zsh > lockstep.zsh
  COMMAND lockstep completion fish > lockstep.fish
  DEPENDS lockstep
  COMMENT "Writing the manual page and completion scripts")
# Editors find the schema of each shipped file by its first line (tools/schema_lines.py).
set(schema_kinds scenario clusters nodes links fabrics gpus kernel_efficiency learned_kernels hosts models plans validation
    profiles kernel_families power)
list(TRANSFORM schema_kinds REPLACE "(.+)" "schemas/\\1.json" OUTPUT_VARIABLE schema_files)
set(write_schemas ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/schemas)
foreach(kind ${schema_kinds})
  list(APPEND write_schemas COMMAND lockstep schema ${kind} -o ${PROJECT_BINARY_DIR}/schemas/${kind}.json)
endforeach()
add_custom_command(OUTPUT ${schema_files} COMMAND ${write_schemas} DEPENDS lockstep COMMENT "Writing JSON Schemas")
add_custom_target(lockstep_schemas ALL DEPENDS ${schema_files})
add_custom_target(editor_schemas  # for the files of the source tree
  COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_BINARY_DIR}/schemas ${PROJECT_SOURCE_DIR}/schemas
  DEPENDS ${schema_files})

add_custom_target(lockstep_manual ALL DEPENDS lockstep.1 lockstep.bash lockstep.zsh lockstep.fish)
add_dependencies(lockstep_manual lockstep_schemas)  # both are what `cmake --install` looks for beside the program

install(TARGETS lockstep RUNTIME)
install(DIRECTORY configs scenarios ${PROJECT_BINARY_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep)
install(FILES LICENSE README.md CHANGELOG.md cmake/third_party.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_BINARY_DIR}/lockstep.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/lockstep.bash RENAME lockstep
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PROJECT_BINARY_DIR}/lockstep.zsh RENAME _lockstep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_BINARY_DIR}/lockstep.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_CONTACT "the Lockstep developers <lockstep@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "predicts the time of a training step on many GPUs, and shows why")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # dpkg-shlibdeps names the packages of the libraries
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
