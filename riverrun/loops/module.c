/* riverrun.loops._compiled: the functions of pure.py again, in C. */

#include "compiled.h"

static PyObject *use_at_record(PyObject *module, PyObject *function)
{
    (void)module;
    Py_XSETREF(at_record, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"encode", encode, METH_O, "A run of plain values as a pickle, or None."},
    {"decode", decode, METH_O, "The values of such a pickle, or None if it is another."},
    {"encode_shaped", (PyCFunction)(void (*)(void))encode_shaped, METH_FASTCALL, "A run of one shape, or None."},
    {"decode_shaped", (PyCFunction)(void (*)(void))decode_shaped, METH_FASTCALL, "The records of such a run, or None."},
    {"items", (PyCFunction)(void (*)(void))items, METH_FASTCALL, "One item of each tuple, or None."},
    {"share", (PyCFunction)(void (*)(void))share, METH_FASTCALL, "Append each value to the list of its key's owner."},
    {"share_written", (PyCFunction)(void (*)(void))share_written, METH_FASTCALL, "Write each value for its key's owner."},
    {"fold", (PyCFunction)(void (*)(void))fold, METH_FASTCALL, "Reduce each value into its key's entry."},
    {"fold_new", (PyCFunction)(void (*)(void))fold_new, METH_FASTCALL, "Add each value to its key's accumulator."},
    {"gather", (PyCFunction)(void (*)(void))gather, METH_FASTCALL, "Call a function for each record."},
    {"gather_timed", (PyCFunction)(void (*)(void))gather_timed, METH_FASTCALL, "The same with times."},
    {"hold", (PyCFunction)(void (*)(void))hold, METH_FASTCALL, "Put records to the others of their bucket and key."},
    {"meet", (PyCFunction)(void (*)(void))meet, METH_FASTCALL, "Call a function for each pair of records."},
    {"all_plain", all_plain, METH_O, "Whether no value of a dict can be changed."},
    {"extent", extent, METH_O, "The least and the greatest of whole numbers, or None."},
    {"same_keys", (PyCFunction)(void (*)(void))same_keys, METH_FASTCALL, "Whether a dict has the keys of a tuple."},
    {"words", (PyCFunction)(void (*)(void))words, METH_FASTCALL, "The numbers of a dict, eight bytes each, or None."},
    {"use_at_record", use_at_record, METH_O, "How an error gets a record in hand."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "riverrun.loops._compiled",
    .m_doc = "The hottest loops in C; riverrun.loops.pure has the same in Python.",
    .m_size = -1,
    .m_methods = functions,
};

static int add_type(PyObject *module, const char *name, PyTypeObject *type)
{
    return PyType_Ready(type) < 0 ? -1 : PyModule_AddObjectRef(module, name, (PyObject *)type);
}

PyMODINIT_FUNC PyInit__compiled(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    if (add_type(module, "KeyHolder", &KeyHolder_Type) < 0 || add_type(module, "Moment", &Moment_Type) < 0 ||
        add_type(module, "PairTimes", &PairTimes_Type) < 0 || add_type(module, "Entries", &Entries_Type) < 0 ||
        add_type(module, "Shape", &Shape_Type) < 0 || add_type(module, "Writer", &Writer_Type) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
