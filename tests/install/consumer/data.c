/* libvolta_data is there: a picture that is not is refused with a sentence. */
#include <stdio.h>
#include <volta_data.h>

int main(void) {
    volta_picture* picture = NULL;
    const volta_status status = volta_picture_open("/nowhere.png", NULL, &picture);
    printf("volta_data %s: %s\n", volta_data_version(), volta_data_last_error());
    return status != VOLTA_IO_ERROR || picture != NULL;
}
