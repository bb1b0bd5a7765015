# The fuzz target of imports is one source for every container: a name and its format.
set(VOLTA_IMPORT_FORMATS
    import_safetensors VOLTA_WEIGHTS_SAFETENSORS
    import_gguf VOLTA_WEIGHTS_GGUF
    import_llama2c VOLTA_WEIGHTS_LLAMA2C)

# volta_import_programs(<prefix> <further sources>): <prefix>_import_safetensors, ...
function(volta_import_programs prefix)
    set(formats ${VOLTA_IMPORT_FORMATS})
    while(formats)
        list(POP_FRONT formats name format)
        add_executable(${prefix}_${name} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_import.cpp ${ARGN})
        target_compile_definitions(${prefix}_${name} PRIVATE FUZZ_FORMAT=${format})
        target_link_libraries(${prefix}_${name} PRIVATE volta_flags volta_static)
    endwhile()
endfunction()
