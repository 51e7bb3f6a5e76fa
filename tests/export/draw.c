/* Draws texts: SEED TEMPERATURE COUNT [LABEL] CODE... */
#define NAMES_IMPLEMENTATION
#include "names.h"
#include <stdio.h>
#include <stdlib.h>

#ifdef OF_LABELS
#define LABEL , atoi(argv[4])
#define PRIME 5
#else
#define LABEL
#define PRIME 4
#endif

int main(int argc, char **argv) {
    static names_state s;
    static char text[8001];
    for (int i = 0; i < atoi(argv[3]); i++) {
        names_begin(&s, (uint64_t)strtoull(argv[1], 0, 10), (uint64_t)i, 0 LABEL);
        for (int k = PRIME; k < argc; k++) names_read(&s, (uint32_t)atoi(argv[k]));
        names_utf8(&s, atof(argv[2]), text, sizeof text);
#ifdef OF_LABELS
        printf("%s|", names_labels[s.label]);
#endif
        puts(text);
    }
    return 0;
}
