# The transport mpi, below every MPI that is installed (make deps-mpi): ranks are processes that its mpirun starts.
volta_module_objects(objects group)
add_executable(test_mpi test_mpi.cpp ${objects})
target_link_libraries(test_mpi PRIVATE volta_flags Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(test_mpi PRIVATE ${VOLTA_TEST_OPTIONS})
# Where MPI fails: one that does what the test says.
add_library(fake_mpi MODULE fake_mpi.c)
target_link_libraries(fake_mpi PRIVATE volta_flags)
set_source_files_properties(fake_mpi.c PROPERTIES COMPILE_OPTIONS -fvisibility=default) # the engine is to find it all
volta_test(test_mpi_failures SOURCES test_mpi_failures.cpp USES group)
target_link_libraries(test_mpi_failures PRIVATE ${CMAKE_DL_LIBS})
target_compile_definitions(test_mpi_failures PRIVATE VOLTA_FAKE_MPI="$<TARGET_FILE:fake_mpi>")
add_dependencies(test_mpi_failures fake_mpi)
# Not under sanitizers, which know nothing of the launchers' and libraries' own memory.
foreach(which none openmpi mpich mpi5)
    if(which STREQUAL "none" OR NOT VOLTA_SANITIZE)
        add_test(NAME test_mpi_${which} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/test_mpi.sh $<TARGET_FILE:test_mpi> ${which})
        # Timeouts of ranks are tested: not several of them at once on few cores.
        set_tests_properties(test_mpi_${which} PROPERTIES LABELS slow SKIP_RETURN_CODE 77 TIMEOUT 600 RESOURCE_LOCK test_mpi)
    endif()
endforeach()
