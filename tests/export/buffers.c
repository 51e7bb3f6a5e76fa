#define NAMES_IMPLEMENTATION
#include "names.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static names_state s;
    for (size_t size = 1; size <= 20; size++)
        for (uint64_t number = 0; number < 40; number++) {
            char *to = malloc(size);
            size_t length;
            names_begin(&s, 1, number, 0);
            do { /* piece by piece */
                memset(to, 'x', size);
                length = names_utf8(&s, 1.0, to, size);
                if (length >= size || strlen(to) != length) return 1;
                fputs(to, stdout);
            } while (length);
            free(to);
            puts("");
        }
    return 0;
}
