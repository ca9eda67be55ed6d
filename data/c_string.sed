# SPDX-License-Identifier: MIT
# Lines of text as a C string. A file, because Meson makes slashes of backslashes in a command.
s/["\\]/\\&/g
s/.*/"&\\n"/
