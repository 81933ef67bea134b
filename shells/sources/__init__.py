"""Where descriptors come from: files of several forms, directories of them, another registry. No Django.

A source gives items: the JSON text of one descriptor each, with the line where it stands. Nothing here
judges a descriptor; what a file *is* is found out from its first bytes, not from its name.

    files          which files are meant, and what stands for their state
    reading        an open file → items
    packing        gzip and zstd
    json_text      JSON lines, arrays, dumps of an API; JSON text value by value
    environments   AAS environments in JSON and XML → descriptors
    packages       AASX packages
    registries     another registry over HTTP
"""
