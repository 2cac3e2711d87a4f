#include "list.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct node {
    struct node *next;
    int value;
};

typedef struct {
    int x;
} point_t;

typedef int (*compare_fn)(const void *, const void *);

enum mode { READ, WRITE };

static int counter = 0;

int list_length(const struct node *head);

static struct node *
list_push(struct node *head, int value)
{
    int local(void);
    return head;
}
