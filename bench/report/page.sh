# SPDX-License-Identifier: BSD-3-Clause
# Functions that write self-contained pages with plots; to be sourced by bash. A page is one HTML file that contains its
# style and plots, so it needs no scripts, fonts or network. It is also well-formed XML. The plots are also kept as SVG
# files in the same directory, with the CSV files from which they are drawn.
#
# To make a page, call in this order:
#
#     page_begin FILE TITLE SUBTITLE    a new page. FILE's directory exists; names of CSV and SVG files below are relative
#                                       to that directory, and may lead into directories in it
#     page_section TITLE                a heading, which is also in the table of contents
#     page_subsection TITLE             the same, one level lower
#     page_text PARAGRAPH...            plain text; what is in `backquotes` is shown as code
#     page_facts                        a list from standard input: lines NAME, tab, VALUE
#     page_failure TEXT                 a line about something that failed
#     page_worthless TEXT               a line in red that figures are meaningless
#     page_table CSV [NAME=LABEL...]    a table. Columns NAME_us and NAME_percent get their unit, and a LABEL replaces
#                                       a NAME; a column followed by NAME_q1 and NAME_q3 is shown with these quartiles
#                                       in one cell, which is struck out if they differ by more than a factor of
#                                       three. Comments are its caption
#     page_plot NAME SCRIPT CAPTION CSV...
#                                       a plot, NAME.svg: the output of gnuplot's SCRIPT with the CSVs as ARG1, ARG2,
#                                       ... SCRIPT may be anywhere; load 'style.gp' in it finds the one in this
#                                       directory. NAME.pdf is written as well if gnuplot can write PDF. There is no
#                                       plot if the first CSV has one row, as a point shows no more than the table
#     page_picture NAME CAPTION         an existing picture of gnuplot's: NAME.svg, and perhaps NAME.pdf
#     page_link FILE TEXT               a line that links to a file
#     page_raw CSV...                   links to the files, and their contents to unfold
#     page_details SUMMARY              standard input as it is, to unfold
#     page_end                          writes FILE, which does not exist before
#
# Texts may contain any characters, which are escaped. CSV files consist of comments (# ...), a header and rows,
# without quotes. If gnuplot fails, page_plot calls page_failure and returns 1; all other functions return 0. Only one
# page can be written at a time.
# shellcheck shell=bash
page_home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Removes characters that XML cannot contain.
page_escape() {
    iconv -cs -f UTF-8 -t UTF-8 | tr -d '\000-\010\013\014\016-\037' |
        sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}
page_escaped() { printf '%s' "$1" | page_escape; }

page_narrow=640 # pixels: pictures that are wider than this do not shrink below it
page_apart=3 # quartiles that differ by more than this factor are meaningless

# Appends to a file and not to a variable, because some of the functions run in subshells, at the end of pipes.
page_put() { printf '%s\n' "$1" >> "$page_file.body"; }

page_begin() { # FILE TITLE SUBTITLE
    page_file=$1 page_title=$(page_escaped "$2") page_subtitle=$(page_escaped "$3")
    page_dir=$(dirname "$1")
    page_contents='' page_headings=0
    : > "$page_file.body"
}

page_heading() { # LEVEL TITLE
    local title
    title=$(page_escaped "$2")
    page_headings=$((page_headings + 1))
    page_put "<h$1 id=\"section-$page_headings\">$title</h$1>"
    page_contents+="<li class=\"level-$1\"><a href=\"#section-$page_headings\">$title</a></li>"$'\n'
}
page_section() { page_heading 2 "$1"; }
page_subsection() { page_heading 3 "$1"; }

page_text() { # PARAGRAPH...
    local paragraph
    for paragraph; do
        # shellcheck disable=SC2016 # backquotes of the text
        page_put "<p>$(page_escaped "$paragraph" | sed 's/`\([^`]*\)`/<code>\1<\/code>/g')</p>"
    done
}

page_failure() { page_put "<p class=\"failure\">$(page_escaped "$1")</p>"; }

page_worthless() { page_put "<p class=\"worthless\">$(page_escaped "$1")</p>"; }

page_facts() {
    page_put "<table class=\"facts\"><tbody>
$(page_escape | sed 's|^\([^\t]*\)\t\(.*\)|<tr><th>\1</th><td>\2</td></tr>|')
</tbody></table>"
}

page_details() { # SUMMARY
    page_put "<details><summary>$(page_escaped "$1")</summary><pre>$(page_escape)</pre></details>"
}

page_link() { # FILE TEXT
    page_put "<p class=\"link\"><a href=\"$(page_escaped "$1")\">$(page_escaped "$2")</a></p>"
}

page_raw() { # CSV...
    local csv
    for csv; do
        page_link "$csv" "Raw data: ${csv##*/}"
    done
    for csv; do
        page_details "$csv" < "$page_dir/$csv"
    done
}

page_table() { # CSV [NAME=LABEL...]
    local csv=$1 labels
    shift
    labels=$(printf '%s\n' "$@" | page_escape)
    page_put "<div class=\"wide\"><table class=\"data\">
$(page_escape < "$page_dir/$csv" | page_labels=$labels awk -F , -v apart=$page_apart '
        # Three significant digits; integers are left alone.
        function shown(text) {
            if (text ~ /^-?nan$/) return "none"
            if (text !~ /^-?[0-9]*\.[0-9]+([eE][-+]?[0-9]+)?$/) return text
            size = text < 0 ? -text : text + 0
            if (size < 0.0005) return "0.000" # without the sign of a negative value
            return sprintf(size >= 99.95 ? "%.0f" : size >= 9.995 ? "%.1f" : size >= 0.9995 ? "%.2f" : "%.3f", text)
        }
        function heading(name,   unit) {
            unit = ""
            if (sub(/_us$/, "", name)) unit = " (µs)"
            else if (sub(/_percent$/, "", name)) unit = " (%)"
            if (name in label) return label[name] unit
            gsub(/_/, " ", name)
            return name unit
        }
        BEGIN {
            lines = split(ENVIRON["page_labels"], line, "\n")
            for (i = 1; i <= lines; i++) {
                at = index(line[i], "=")
                label[substr(line[i], 1, at - 1)] = substr(line[i], at + 1)
            }
        }
        sub(/^# */, "") { comments = comments (comments == "" ? "" : "; ") $0; next }
        NF == 0 { next }
        !columns {
            columns = NF
            if (comments != "") print "<caption>" comments "</caption>"
            printf "<thead><tr>"
            for (i = 1; i <= NF; i += quartiles[i] ? 3 : 1) {
                base = $i
                sub(/_us$|_percent$/, "", base)
                quartiles[i] = $(i + 1) == base "_q1" && $(i + 2) == base "_q3"
                printf "<th>%s</th>", heading($i)
            }
            print "</tr></thead>\n<tbody>"
            next
        }
        {
            printf "<tr>"
            for (i = 1; i <= columns; i += quartiles[i] ? 3 : 1) {
                unsure = quartiles[i] && $(i + 1) > 0 && $(i + 2) > apart * $(i + 1)
                printf "<td%s>%s", unsure ? " class=\"unsure\"" : "", shown($i)
                if (quartiles[i]) printf " <span>%s to %s</span>", shown($(i + 1)), shown($(i + 2))
                printf "</td>"
            }
            print "</tr>"
        }
        END { if (columns) print "</tbody>" }')
</table></div>"
}

# Prints an SVG with the prefix before all of its ids, because different plots use the same ids.
page_inlined() { # SVG PREFIX
    sed -n '/<svg/,$p' "$1" | sed -E "s/ id=(['\"])/ id=\1$2-/g; s/href=(['\"])#/href=\1#$2-/g
        s/url\((['\"]?)#/url(\1#$2-/g"
}

page_plot() { # NAME SCRIPT CAPTION CSV...
    local name=$1 script=$2 caption=$3 said csv files=()
    local svg=$page_dir/$name.svg pdf=$page_dir/$name.pdf
    shift 3
    for csv; do
        files+=("$page_dir/$csv")
    done
    [ "$(grep -vc '^#' "${files[0]}")" != 2 ] || return 0
    if ! said=$(GNUPLOT_LIB=$page_home gnuplot -c "$script" "${files[@]}" 2>&1 > "$svg") || [ ! -s "$svg" ]; then
        rm -f "$svg"
        # gnuplot prints the wrong line of the script first, then the error
        page_failure "No plot of ${name##*/}: gnuplot says: $(grep -v '^ *^\?$' <<< "$said" | tail -n 1)"
        return 1
    fi
    GNUPLOT_LIB=$page_home gnuplot -e "kind = 'pdf'" -c "$script" "${files[@]}" > "$pdf" 2> /dev/null || rm -f "$pdf"
    page_picture "$name" "$caption"
}

page_picture() { # NAME CAPTION
    local name svg=$page_dir/$1.svg caption pdf='' wide=''
    name=$(page_escaped "$1") caption=$(page_escaped "$2")
    [ ! -s "$page_dir/$1.pdf" ] || pdf=" <a href=\"$name.pdf\">PDF</a>"
    [ "$(sed -n 's/.*viewBox="0 0 \([0-9]*\).*/\1/p' "$svg" | head -n 1)" -le "$page_narrow" ] || wide=' class="wide"'
    page_put "<figure$wide>
$(page_inlined "$svg" "plot-$(tr -c 'A-Za-z0-9\n' - <<< "$name")" |
        page_caption=$caption awk '
            { gsub(/<title>gnuplot_[^<]*<\/title>/, "") }
            !titled && /<title>/ { $0 = "<title>" ENVIRON["page_caption"] "</title>"; titled = 1 }
            { print }')
<figcaption>$caption <a href=\"$name.svg\">SVG</a>$pdf</figcaption>
</figure>"
}

page_end() {
    local new=$page_file.new
    cat > "$new" << END && mv "$new" "$page_file" && rm "$page_file.body"
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>$page_title</title>
<style>
$(cat "$page_home/page.css")
</style>
</head>
<body>
<header><h1>$page_title</h1>
<p>$page_subtitle</p></header>
<nav><ul>
$page_contents</ul></nav>
<main>
$(cat "$page_file.body")
</main>
</body>
</html>
END
}
