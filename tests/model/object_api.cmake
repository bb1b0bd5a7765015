# The schema once more with FlatBuffers' object API, for the editor that tests and the fuzzer change files with. In a
# namespace of its own, so that the engine's types stay the only ones of their name.
function(volta_model_object_api)
    set(schema_file ${PROJECT_SOURCE_DIR}/schemas/model_v1.fbs)
    set(folder ${PROJECT_BINARY_DIR}/generated_tests)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${schema_file})
    file(READ ${schema_file} schema)
    string(REPLACE "namespace volta.model_v1;" "namespace volta.model_v1_object;" schema "${schema}")
    file(CONFIGURE OUTPUT ${folder}/model_v1_object.fbs CONTENT "${schema}" @ONLY)
    add_custom_command(
        OUTPUT ${folder}/model_v1_object_generated.h
        COMMAND ${VOLTA_FLATC} --cpp --scoped-enums --gen-object-api -o ${folder} ${folder}/model_v1_object.fbs
        DEPENDS ${folder}/model_v1_object.fbs)
    set(VOLTA_MODEL_OBJECT_API ${folder}/model_v1_object_generated.h PARENT_SCOPE)
endfunction()
