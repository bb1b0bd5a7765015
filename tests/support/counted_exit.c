/* In builds that count lines, _exit of test programs: what a forked child has counted is written before it
 * ends. */
void __gcov_dump(void);
void __real__exit(int status);
void __wrap__exit(int status);

void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}
