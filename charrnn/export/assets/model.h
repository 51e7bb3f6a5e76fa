/* @FILE@.h: draws texts, one character at a time. Made by charrnn.

   In one file, before including this:   #define @P@_IMPLEMENTATION
   in others, include it alone. It needs C99 or C++, and libm. It allocates no memory and uses no
   global variables: each text needs its own @p@_state. In C++:

       #define @P@_IMPLEMENTATION
       #include "@FILE@.h"
       #include <cstdio>
       #include <set>
       #include <string>
       int main() {
           static @p@_state s;
           static char text[8001];
           std::set<std::string> texts;
           for (int number = 0; number < 10; number++)
               for (int attempt = 0; attempt < 101; attempt++) { // until the text is new
@unlabelled@                   @p@_begin(&s, 1, number, attempt); // the seed, and the number of the text
@labelled@                   @p@_begin(&s, 1, number, attempt, -1); // the seed, the number, any label
                   @p@_utf8(&s, 0.8, text, sizeof text); // the temperature
                   if (texts.insert(text).second) {
                       std::puts(text);
                       break;
                   }
               }
       }

   @NETWORK@, @K@ symbols. It draws the texts of charrnn
   sample @USE@--seed from the .npz file that charrnn export makes of the same model: the first attempts
   without --unique, and those of this loop with it. */
#ifndef @P@_H
#define @P@_H

#include <stddef.h>
#include <stdint.h>

#define @P@_SYMBOLS @K@ /* 0 is the end, 1 an unknown character */
#define @P@_UNITS @H@
#define @P@_GATES @G@
#define @P@_LAYERS @L@
@labelled@#define @P@_LABELS @N@
#ifndef @P@_LONGEST
#define @P@_LONGEST 2000 /* characters of a text in UTF-8, as with --max-chars */
#endif

#ifndef CHARRNN_ANY_MODEL /* the type that the headers of several models share */
#define CHARRNN_ANY_MODEL
typedef struct { /* the functions below, whose first argument is a state of that model */
    size_t state_size;
    int label_count; /* 0 without labels, where begin takes any label */
    const char *const *labels;
    void (*begin)(void *s, uint64_t seed, uint64_t number, uint64_t attempt, int label);
    void (*read)(void *s, uint32_t code);
    int32_t (*next)(void *s, double temperature);
    size_t (*utf8)(void *s, double temperature, char *to, size_t size);
} charrnn_any_model;
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double state[@P@_LAYERS][@S@][@P@_UNITS];
    double ux[@P@_GATES * @P@_UNITS], wh[@P@_GATES * @P@_UNITS], o[@P@_SYMBOLS];
    uint64_t key, drawn, read;
    int symbol, is_over;
@labelled@    int label; /* of the text: its place in @p@_labels */
} @p@_state;

/* Begin a text of `charrnn sample --seed SEED`, by its number and its attempt, both from 0. */
@labelled@/* Its label is a place in this table (UTF-8); or -1, and it is drawn by its frequency. */
@labelled@extern const char *const @p@_labels[@P@_LABELS];
void @p@_begin(@p@_state *s, uint64_t seed, uint64_t number, uint64_t attempt@LABEL@);

/* Read a character of the prime, before the first character is drawn. */
void @p@_read(@p@_state *s, uint32_t code);

/* Draw a character: its code point, or -1 at the end. Temperature 0 draws the likeliest. */
int32_t @p@_next(@p@_state *s, double temperature);

/* Draw to the end, or until there is no room, and add a 0. Returns the bytes of UTF-8 before it. */
size_t @p@_utf8(@p@_state *s, double temperature, char *to, size_t size);

/* All of these, for code that draws from any of several models. */
extern const charrnn_any_model @p@_model;

#ifdef __cplusplus
}
#endif
#endif

#if defined @P@_IMPLEMENTATION && !defined @P@_IMPLEMENTED
#define @P@_IMPLEMENTED
#include <math.h>
#include <string.h>

@WEIGHTS@

@labelled@const char *const @p@_labels[@P@_LABELS] = {
@labelled@@LABELS@
@labelled@};
@labelled@static const double @p@_sums[@P@_LABELS] = {@SUMS@}; /* of examples, up to each label */
@labelled@
static const struct {
    const float *U, *W, *b, *d;
} @p@_layers[@P@_LAYERS] = {
@LAYERS@
};

/* y = M x, column by column of M: so compilers compute several rows at once. */
static void @p@_product(const float *m, int rows, const double *x, double *y) {
    for (int i = 0; i < rows; i++) y[i] = 0;
    for (int j = 0; j < @P@_UNITS; j++, m += rows)
        for (int i = 0; i < rows; i++) y[i] += m[i] * x[j];
}

@gru lstm@static double @p@_sigmoid(double a) { return 0.5 * tanh(0.5 * a) + 0.5; }
@gru lstm@
static void @p@_step(@p@_state *s) {
    const int H = @P@_UNITS, columns = @P@_GATES * H;
    double *ux = s->ux, *wh = s->wh;
    for (int l = 0; l < @P@_LAYERS; l++) {
@tanh gru@        double *h = s->state[l][0];
@lstm@        double *h = s->state[l][0], *c = s->state[l][1];
        if (l == 0)
            for (int i = 0; i < columns; i++) ux[i] = @p@_U1[s->symbol * columns + i];
        else
            @p@_product(@p@_layers[l].U, columns, s->state[l - 1][0], ux);
        for (int i = 0; i < columns; i++) ux[i] += @p@_layers[l].b[i];
        @p@_product(@p@_layers[l].W, columns, h, wh);
        for (int i = 0; i < H; i++) {
@tanh@            h[i] = tanh(ux[i] + wh[i]);
@gru@            const double r = @p@_sigmoid(ux[i] + wh[i]), z = @p@_sigmoid(ux[H + i] + wh[H + i]);
@gru@            const double w = wh[2 * H + i] + @p@_layers[l].d[i], n = tanh(ux[2 * H + i] + r * w);
@gru@            h[i] = (h[i] - n) * z + n;
@lstm@            const double in = @p@_sigmoid(ux[i] + wh[i]), keep = @p@_sigmoid(ux[H + i] + wh[H + i]);
@lstm@            c[i] = keep * c[i] + in * tanh(ux[2 * H + i] + wh[2 * H + i]);
@lstm@            h[i] = @p@_sigmoid(ux[3 * H + i] + wh[3 * H + i]) * tanh(c[i]);
        }
    }
    s->read++;
}

static const uint64_t @p@_gamma = UINT64_C(0x9E3779B97F4A7C15);
static uint64_t @p@_mix(uint64_t z) { /* SplitMix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}
static double @p@_uniform(uint64_t key, uint64_t step) { /* from 0 to below 1 */
    return (double)(@p@_mix(key + (step + 1) * @p@_gamma) >> 12) / 4503599627370496.0;
}

void @p@_begin(@p@_state *s, uint64_t seed, uint64_t number, uint64_t attempt@LABEL@) {
    memset(s, 0, sizeof *s);
    s->key = @p@_mix((@p@_mix(seed + @p@_gamma) ^ number) + @p@_gamma);
@labelled@    if (label < 0 || label >= @P@_LABELS) {
@labelled@        const double chance = @p@_uniform(@p@_mix(s->key + @p@_gamma), UINT64_C(1) << 49);
@labelled@        for (label = 0; label < @P@_LABELS - 1; label++)
@labelled@            if (@p@_sums[label] > chance * @p@_sums[@P@_LABELS - 1]) break;
@labelled@    }
@labelled@    s->label = label;
@labelled@    s->symbol = @P@_SYMBOLS + label;
    s->key = @p@_mix((s->key ^ attempt) + @p@_gamma);
}

void @p@_read(@p@_state *s, uint32_t code) {
    int k = 2;
    @p@_step(s);
    while (k < @P@_SYMBOLS && @p@_codes[k - 2] != code) k++;
    s->symbol = k < @P@_SYMBOLS ? k : 1;
}

int32_t @p@_next(@p@_state *s, double temperature) {
    double *o = s->o, sum = 0, most, lot;
    int k, first, best;
    if (s->is_over) return -1;
    @p@_step(s);
    @p@_product(@p@_V, @P@_SYMBOLS, s->state[@P@_LAYERS - 1][0], o);
    for (k = 0; k < @P@_SYMBOLS; k++) o[k] += @p@_c[k];
@halt@    for (most = o[1], k = 2; k < @P@_SYMBOLS; k++) /* a unit for the end */
@halt@        if (o[k] > most) most = o[k];
@halt@    for (k = 1; k < @P@_SYMBOLS; k++) sum += exp(o[k] -= most);
@halt@    for (k = 1; k < @P@_SYMBOLS; k++) o[k] -= log(sum);
@halt@    sum = 0;

    first = s->read > 1 ? 0 : 2; /* no text is empty */
    best = first;
    for (k = 2; k < @P@_SYMBOLS; k++)
        if (o[k] > o[best]) best = k;
    most = o[best];
    lot = @p@_uniform(s->key, s->drawn++);
    if (temperature > 0) {
        if (temperature < 1e-100) temperature = 1e-100;
        for (k = 0; k < @P@_SYMBOLS; k++) { /* o becomes the running sum */
            if (k != 1 && k >= first) sum += exp((o[k] - most) / temperature);
            o[k] = sum;
        }
        for (best = 0; best < @P@_SYMBOLS - 1 && !(o[best] > lot * sum); best++) {}
    }
    s->symbol = best;
    s->is_over = best == 0;
    return best ? (int32_t)@p@_codes[best - 2] : -1;
}

size_t @p@_utf8(@p@_state *s, double temperature, char *to, size_t size) {
    size_t length = 0;
    while (s->drawn < @P@_LONGEST && length + 5 <= size) { /* four bytes and the 0 */
        const int32_t c = @p@_next(s, temperature);
        int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; /* bytes after the first */
        if (c < 0) break;
        to[length++] = (char)(more ? ((0xF0 << (3 - more) & 0xFF) | c >> 6 * more) : c);
        while (more--) to[length++] = (char)(0x80 | (c >> 6 * more & 0x3F));
    }
    if (size) to[length] = 0;
    return length;
}

static void @p@_begin_any(void *s, uint64_t seed, uint64_t number, uint64_t attempt, int label) {
@unlabelled@    (void)label;
@unlabelled@    @p@_begin((@p@_state *)s, seed, number, attempt);
@labelled@    @p@_begin((@p@_state *)s, seed, number, attempt, label);
}
static void @p@_read_any(void *s, uint32_t code) { @p@_read((@p@_state *)s, code); }
static int32_t @p@_next_any(void *s, double t) { return @p@_next((@p@_state *)s, t); }
static size_t @p@_utf8_any(void *s, double t, char *to, size_t size) {
    return @p@_utf8((@p@_state *)s, t, to, size);
}
const charrnn_any_model @p@_model = {
@unlabelled@    sizeof(@p@_state), 0, 0,
@labelled@    sizeof(@p@_state), @P@_LABELS, @p@_labels,
    @p@_begin_any, @p@_read_any, @p@_next_any, @p@_utf8_any};
#endif
