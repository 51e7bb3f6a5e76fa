#define NAMES_IMPLEMENTATION
#include "names.h"
#include <stdio.h>
#include <stdlib.h>
#define TOWNS_IMPLEMENTATION
#include "towns.h"

static void draw(const charrnn_any_model *model) {
    char text[8001];
    void *state = malloc(model->state_size);
    for (int label = -1; label < model->label_count; label++)
        for (uint64_t i = 0; i < 9; i++) {
            model->begin(state, 1, i, 0, label);
            model->read(state, 'a');
            int32_t first = model->next(state, 1.0);
            model->utf8(state, 1.0, text, sizeof text);
            printf("%s %d %s\n", label < 0 ? "" : model->labels[label], (int)first, text);
        }
    free(state);
}

int main(void) {
    draw(&names_model);
    draw(&towns_model);
    return 0;
}
