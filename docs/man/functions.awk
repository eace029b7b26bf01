# SPDX-License-Identifier: BSD-3-Clause
# Write a man page of section 3 from the public header, on the standard output. Called by make:
#
#     awk -v name=FUNCTION -v version=VERSION -v date=DATE -f docs/man/functions.awk myr/myr.h
#
# FUNCTION is one of the header's, or libmyr, for the overview: the header's head comment, and its types. A page is
# what the header says: the comment in front of a declaration belongs to it, and paragraphs of the head comment that
# begin with "Errors." and "Threads." belong to every page.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text ~ /^[.']/ ? "\\&" text : text
}
function print_code(text) { printf ".PP\n.nf\n\\fB%s\\fR\n.fi\n", roff(text) }
# Paragraphs, of lines; "" between them. A *word* is emphasized.
function print_text(text) {
    while (match(text, /\*[a-z]+\*/))
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + 1, RLENGTH - 2) substr(text, RSTART + RLENGTH)
    gsub(/\n\n+/, "\n.PP\n", text)
    print roff_lines(text)
}
function roff_lines(text,   lines, n, i, all) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) all = all (i > 1 ? "\n" : "") (lines[i] == ".PP" ? lines[i] : roff(lines[i]))
    return all
}
# The head comment's paragraph that begins with this word.
function paragraph(word,   parts, n, i) {
    n = split(head, parts, /\n\n/)
    for (i = 1; i <= n; i++)
        if (index(parts[i], word ". ") == 1) return substr(parts[i], length(word) + 3)
    return ""
}
function brief(text) {
    gsub(/\n/, " ", text)
    sub(/[.,;:].*/, "", text)
    return tolower(substr(text, 1, 1)) substr(text, 2)
}
function begin_page(title, what) {
    printf ".TH %s 3 \"%s\" \"nicbarr %s\" \"libmyr\"\n.SH NAME\n%s \\- %s\n", toupper(title), date, version, title, roff(what)
    print ".SH SYNOPSIS"
    print_code("#include <myr/myr.h>")
}
function end_page(others) {
    print ".SH ERRORS"
    print_text(paragraph("Errors"))
    print ".SH ATTRIBUTES"
    print_text("Threads: " paragraph("Threads"))
    printf ".SH SEE ALSO\n%s\n", others
}
function end_declaration() {
    if (declaration ~ /^((struct|enum)( [a-z_]+)? \{|typedef)/) {
        types = types ".PP\n" roff_lines(comment) "\n.PP\n.nf\n\\fB" roff(declaration) "\\fR\n.fi\n"
    } else if (match(declaration, /myr_[a-z_]+\(/)) {
        found = substr(declaration, RSTART, RLENGTH - 1)
        functions = functions (functions == "" ? "" : ",\n") ".BR " found " (3)"
        synopsis = synopsis declaration "\n"
        if (found == name) {
            mine = declaration
            about = comment
        }
    }
    declaration = comment = ""
}

/^\/\*/ { in_comment = 1; comment = ""; comments++; sub(/^\/\* ?/, "") }
in_comment {
    ends = /\*\/$/
    sub(/ ?\*\/$/, "")
    sub(/^ \* ?/, "")
    comment = comment (comment == "" ? "" : "\n") $0
    if (ends) {
        in_comment = 0
        if (comments == 2) head = comment
        if (comments == 2 || comment ~ /^---- /) comment = ""
    }
    next
}
declaration == "" && (/^(#|extern|}|$)/ || /^struct [a-z_]+;$/) { next }
{
    declaration = declaration (declaration == "" ? "" : "\n") $0
    depth += gsub(/{/, "{") - gsub(/}/, "}")
    if (depth == 0 && /;( *\/\*.*)?$/) end_declaration()
}

END {
    if (name == "libmyr") {
        begin_page(name, "barriers that run on NICs, for programs without MPI")
        print_code(synopsis)
        print ".SH DESCRIPTION"
        sub(/^[^\n]*\n\n/, "", head)
        text = head
        sub(/\n\nErrors\. .*/, "", text)
        print_text(text)
        print ".SH TYPES"
        printf "%s", types
        print ".SH ABI"
        print_text(paragraph("ABI"))
        end_page(functions)
    } else if (mine == "") {
        print "functions.awk: " FILENAME " has no " name > "/dev/stderr"
        exit 1
    } else {
        begin_page(name, brief(about))
        print_code(mine)
        print ".SH DESCRIPTION"
        print_text(about)
        end_page(".BR libmyr (3)\n(the types, and the other functions)\n.PP\ndocs/example.c in the sources is a complete program.")
    }
}
