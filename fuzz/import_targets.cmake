# The fuzz targets of imports, one per container and one per file that stands beside the weights: a name, its source,
# and the format or member of volta_import_options that it is compiled for.
set(VOLTA_IMPORT_PROGRAMS
    import_safetensors fuzz_import.cpp FUZZ_FORMAT=VOLTA_WEIGHTS_SAFETENSORS
    import_gguf fuzz_import.cpp FUZZ_FORMAT=VOLTA_WEIGHTS_GGUF
    import_llama2c fuzz_import.cpp FUZZ_FORMAT=VOLTA_WEIGHTS_LLAMA2C
    import_config fuzz_import_beside.cpp FUZZ_OPTION=config_path
    import_key_map fuzz_import_beside.cpp FUZZ_OPTION=key_map_path)

# volta_import_programs(<prefix> <further sources>): <prefix>_import_safetensors, ... Their names without the prefix
# are in VOLTA_IMPORT_TARGETS then.
function(volta_import_programs prefix)
    set(programs ${VOLTA_IMPORT_PROGRAMS})
    set(names)
    while(programs)
        list(POP_FRONT programs name source definition)
        add_executable(${prefix}_${name} ${PROJECT_SOURCE_DIR}/fuzz/${source} ${ARGN})
        target_compile_definitions(${prefix}_${name} PRIVATE ${definition})
        target_link_libraries(${prefix}_${name} PRIVATE volta_flags volta_static)
        list(APPEND names ${name})
    endwhile()
    set(VOLTA_IMPORT_TARGETS ${names} PARENT_SCOPE)
endfunction()
