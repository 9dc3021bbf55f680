#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The HTML report in a real browser, where there is one: on a phone of 390 px and on a
# screen, light and dark, no page is wider than the window (tables scroll in themselves),
# no text of a cell, tile or chart is cut, and no script or address is asked for. Bars and
# points stand where the tables' figures say, in the colours of the page. Without gnuplot a
# page has the same tables, open, and says why it has no charts.
# usage: page_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
h200=$here/reports/h200
# tables PAGE: without its charts and the line about them, details as if folded
tables() { sed '/^<svg /,/^<\/svg>/d; /Charts need gnuplot/d; s/<details open>/<details>/' "$1" |
    sed '/^<section class="card"><h3><code>[a-z]*<\/code> <span class="soft">\(RMSE\|shares\)/,/^<\/section>/d'; }
page="report $h200/families600-turbo.json.gz --budget $h200/budget-turbo.json.gz"

echo "charts: by gnuplot, or not at all"
if command -v gnuplot >/dev/null; then
    exits 0 $page --html families.html
    exits 0 $page --html again.html
    if cmp -s "$work/families.html" "$work/again.html"; then ok; else no "equal reports, other bytes"; fi
    if [ "$(grep -c '^<svg class="chart"' "$work/families.html")" -eq 23 ]; then ok; else
        no "not 23 charts: $(grep -c '^<svg' "$work/families.html")"; fi
    if grep -q 'Charts need\|<details open>' "$work/families.html"; then no "charts, and none"; else ok; fi
fi
# with PATH ARGUMENT...: exit code 0 where that folder holds all programs there are
with() {
    path=$1
    shift
    if (cd "$work" && PATH=$work/$path "$gradgate" "$@" >out 2>err); then ok; else
        no "'$*' fails with $path: $(cat "$work/err")"; fi
}
mkdir "$work/none" "$work/fails"
printf '#!/bin/sh\nexit 4\n' >"$work/fails/gnuplot"
chmod +x "$work/fails/gnuplot"
for program in none fails; do
    with $program $page --html $program.html
    if [ "$(grep -c 'Charts need gnuplot, and are not drawn: gnuplot ' "$work/$program.html")" -eq 1 ] &&
        ! grep -q '<svg' "$work/$program.html"; then ok; else no "$program: no word on charts"; fi
    if [ "$(grep -c '<details open>' "$work/$program.html")" -eq 4 ]; then ok; else
        no "$program: tables are folded"; fi
    [ -e "$work/again.html" ] || continue
    tables "$work/again.html" >"$work/a"
    tables "$work/$program.html" >"$work/b"
    if cmp -s "$work/a" "$work/b"; then ok; else
        no "$program: other tables: $(diff "$work/a" "$work/b" | head -5)"; fi
done
with none doctor
if grep -q '^charts: HTML pages have their tables alone: gnuplot is not inst' "$work/out"; then ok; else
    no "doctor does not say that gnuplot is missing"; fi
if ! command -v gnuplot >/dev/null; then
    echo "no gnuplot here: charts were not looked at"
    conclude 5
    exit
fi
exits 0 doctor
if grep -qE '^charts: gnuplot [0-9.]+' "$work/out"; then ok; else no "doctor sees no gnuplot"; fi

browser=
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
[ -n "$browser" ] || { echo "no Chromium here: pages were not looked at in a browser"; conclude 12; exit; }
exits 1 report "$h200/paper600-atomic.json.gz" --html atomic.html \
    --beside "$h200/paper600-turbo.json.gz"
exits 0 report "$h200/determinism-twopass.json.gz" --html levels.html
exits 0 report "$h200/bench.json" --html bench.html
refuses 3 "of a bench, report makes --html and --markdown alone" report "$h200/bench.json" --junit j.xml
exits 0 bench --suite linear60 --case 'normal-M1-N3-K15-s000' --kernel all --reps 2 --threads 1 \
    --out small.json --html small.html
exits 0 report small.json --html again.html
for page in small again; do tr -d '0-9.' <"$work/$page.html" >"$work/$page"; done # times have 6 digits
if cmp -s "$work/small" "$work/again"; then ok; else no "a stored bench has another page"; fi
# A page too wide for any phone: what follows must be able to fail.
sed 's|<main>|<main><div style="width:800px">wide</div>|' "$work/levels.html" >"$work/wide.html"

# A bar that is longer than its figure, a name that nobody can read, an id twice.
sed 's|^<polygon class="bar" points="\([0-9.]*,[0-9.]*\) [0-9.]*,\([0-9.]*\) [0-9.]*,|<polygon class="bar" points="\1 290,\2 290,|
    s|class="ink" x="[0-9.]*"|class="ink" x="20"|
    s|class="soft" x=|style="fill:#808080" x=|; s|id="chart2"|id="chart1"|' "$work/families.html" >"$work/false.html"

# look SCHEME: for each page and width a line "PAGE WIDTH: WIDEST of WIDTH, N cut ...".
cat >"$work/look.html" <<'END'
<!DOCTYPE html><body><script>
const lines = [], pages = location.hash.slice(1).split(",");
const tries = pages.flatMap(p => [390, 1280].map(w => [p, w]));
const number = text => parseFloat(text.replace("k", "e3"));
// Bars of RMSE / floor that do not fit the table of their section: per chart, lengths over
// the table's figures are one factor, or their logarithms are.
function falseBars(d) {
    const charts = [...d.querySelectorAll(".charts")][0].querySelectorAll("svg");
    const rows = [...d.querySelectorAll("details table.matrix")][0].rows;
    let wrong = 0;
    charts.forEach((svg, column) => {
        const logarithmic = /logarithmic/.test(svg.parentNode.textContent), factors = [];
        const bars = Object.fromEntries([...svg.querySelectorAll("polygon")].map(p =>
            [p.textContent.split(":")[0], p.getBBox().width]));
        for (const row of [...rows].slice(1)) {
            const figure = number(row.cells[column + 1].querySelector("small").textContent);
            const value = logarithmic ? Math.log10(figure) : figure;
            factors.push(bars[row.cells[0].textContent] / value);
        }
        const usual = factors.sort((a, b) => a - b)[factors.length >> 1];
        wrong += factors.filter(f => !(Math.abs(f / usual - 1) < 0.008)).length;
    });
    return wrong;
}
// Texts of charts that leave their drawing, or have a colour that is none of the page's.
function badTexts(d, style) {
    const colours = ["--ink", "--soft", "--ok", "--bad", "--open"].map(name => {
        const probe = d.createElement("i");
        probe.style.color = `var(${name})`;
        d.body.append(probe);
        const colour = style(probe).color;
        probe.remove();
        return colour;
    });
    return [...d.querySelectorAll("svg text")].filter(t => {
        const box = t.getBBox(), width = t.ownerSVGElement.viewBox.baseVal.width;
        return box.x < 0 || box.x + box.width > width ||
            !t.matches(".within") && !colours.includes(style(t).fill);
    }).length;
}
const cut = e => e.clientWidth && e.scrollWidth > e.clientWidth + 1 &&
    e.ownerDocument.defaultView.getComputedStyle(e).display !== "inline";
function next() {
    if (!tries.length) {
        const text = document.createElement("pre");
        text.textContent = lines.join("\n") + "\n";
        return document.body.replaceChildren(text);
    }
    const [page, width] = tries.shift(), frame = document.createElement("iframe");
    frame.style = `border:0;height:900px;width:${width}px`;
    frame.onload = () => {
        const d = frame.contentDocument, root = d.documentElement;
        d.querySelectorAll("details").forEach(e => e.open = true);
        const ids = [...d.querySelectorAll("[id]")].map(e => e.id);
        const bad = [...d.querySelectorAll("h1,h2,h3,p,td,th,.tag,.num,.card>b")].filter(cut);
        lines.push(`${page} ${width}: ${root.scrollWidth} of ${root.clientWidth}, ` +
            `${bad.length} cut ${bad.length ? bad[0].textContent.slice(0, 80) : ""}, ` +
            `${d.querySelector("details .matrix") ? falseBars(d) : "no"} false bars, ` +
            `${badTexts(d, e => frame.contentWindow.getComputedStyle(e))} bad texts, ` +
            `${ids.length - new Set(ids).size} ids twice, ` +
            frame.contentWindow.getComputedStyle(d.body).backgroundColor);
        frame.remove();
        next();
    };
    frame.src = page + ".html";
    document.body.append(frame);
}
next();
</script>
END
look() {
    "$browser" --headless=new --no-sandbox --disable-gpu --allow-file-access-from-files \
        --hide-scrollbars --user-data-dir="$work/browser" --window-size=1400,900 \
        --blink-settings=preferredColorScheme=$1 --virtual-time-budget=20000 --dump-dom \
        "file://$work/look.html#families,atomic,levels,bench,wide,false" 2>/dev/null |
        sed -n 's/.*<pre>//; / of .* cut /p'
}
look 0 >"$work/dark"
look 1 >"$work/light"
for scheme in dark light; do
    for page in families atomic levels bench; do
        for width in 390 1280; do
            seen=$(grep "^$page $width: " "$work/$scheme")
            case $seen in
            "$page $width: $width of $width, 0 cut , 0 false bars, 0 bad texts, 0 ids twice,"*) ok ;;
        "bench $width: $width of $width, 0 cut , no false bars, 0 bad texts, 0 ids twice,"*) ok ;;
            *) no "$page at $width px, $scheme: '$seen'" ;;
            esac
        done
    done
    case $(grep '^false 1280: ' "$work/$scheme") in
    *" 0 false bars"* | *" 0 bad texts"* | *" 0 ids twice"* | "") no "what is false in a chart is not seen" ;;
    *) ok ;;
    esac
    case $(grep '^wide 390: ' "$work/$scheme") in
    *" 390 of "* | "") no "a page of 800 px fits into 390 px: the browser measures nothing" ;;
    *) ok ;;
    esac
done
if [ "$(grep -o 'rgb.*' "$work/dark" | head -1)" = "$(grep -o 'rgb.*' "$work/light" |
    head -1)" ]; then no "dark is light"; else ok; fi
if grep -lE '<script|https?://|<link|@import|url\(' "$work/families.html" "$work/atomic.html" \
    "$work/levels.html" "$work/bench.html"; then no "a page asks for something"; else ok; fi

conclude 40
