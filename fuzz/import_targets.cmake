# The fuzz target of imports is one source for every container: a name and its format. What stands beside the weights
# has another: a name and the member of volta_import_options that gives its path.
set(VOLTA_IMPORT_FORMATS
    import_safetensors VOLTA_WEIGHTS_SAFETENSORS
    import_gguf VOLTA_WEIGHTS_GGUF
    import_llama2c VOLTA_WEIGHTS_LLAMA2C)
set(VOLTA_IMPORT_BESIDE
    import_config config_path
    import_key_map key_map_path)
set(VOLTA_IMPORT_TARGETS import_safetensors import_gguf import_llama2c import_config import_key_map)

# volta_import_programs(<prefix> <further sources>): <prefix>_import_safetensors, ...
function(volta_import_programs prefix)
    set(formats ${VOLTA_IMPORT_FORMATS})
    while(formats)
        list(POP_FRONT formats name format)
        add_executable(${prefix}_${name} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_import.cpp ${ARGN})
        target_compile_definitions(${prefix}_${name} PRIVATE FUZZ_FORMAT=${format})
        target_link_libraries(${prefix}_${name} PRIVATE volta_flags volta_static)
    endwhile()
    set(beside ${VOLTA_IMPORT_BESIDE})
    while(beside)
        list(POP_FRONT beside name option)
        add_executable(${prefix}_${name} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_import_beside.cpp ${ARGN})
        target_compile_definitions(${prefix}_${name} PRIVATE FUZZ_OPTION=${option})
        target_link_libraries(${prefix}_${name} PRIVATE volta_flags volta_static)
    endwhile()
endfunction()
