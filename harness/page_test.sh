#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The HTML report in a real browser, where there is one: on a phone of 390 px and on a
# screen, light and dark, no page is wider than the window (tables scroll in themselves),
# no text of a cell or tile is cut, and no script or address is asked for.
# usage: page_test.sh BUILD
set -u
build=$1
. "$(dirname "$0")/shell_test.sh"
browser=
for name in chromium chromium-browser google-chrome; do
    command -v $name >/dev/null && browser=$name && break
done
[ -n "$browser" ] || { echo "no Chromium here: pages were not looked at in a browser"; exit 0; }
h200=$here/reports/h200
exits 0 report "$h200/families600-turbo.json.gz" --budget "$h200/budget-turbo.json.gz" \
    --html families.html
exits 1 report "$h200/paper600-atomic.json.gz" --html atomic.html \
    --beside "$h200/paper600-turbo.json.gz"
exits 0 report "$h200/determinism-twopass.json.gz" --html levels.html
# A page too wide for any phone: what follows must be able to fail.
sed 's|<main>|<main><div style="width:800px">wide</div>|' "$work/levels.html" >"$work/wide.html"

# look SCHEME: for each page and width a line "PAGE WIDTH: WIDEST of WIDTH, N cut ...".
cat >"$work/look.html" <<'END'
<!DOCTYPE html><body><script>
const lines = [], pages = location.hash.slice(1).split(",");
const tries = pages.flatMap(p => [390, 1280].map(w => [p, w]));
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
        const bad = [...d.querySelectorAll("h1,h2,h3,p,td,th,.tag,.num,.card>b")].filter(cut);
        lines.push(`${page} ${width}: ${root.scrollWidth} of ${root.clientWidth}, ` +
            `${bad.length} cut ${bad.length ? bad[0].textContent.slice(0, 80) : ""}, ` +
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
        "file://$work/look.html#families,atomic,levels,wide" 2>/dev/null |
        sed -n 's/.*<pre>//; / of .* cut /p'
}
look 0 >"$work/dark"
look 1 >"$work/light"
for scheme in dark light; do
    for page in families atomic levels; do
        for width in 390 1280; do
            seen=$(grep "^$page $width: " "$work/$scheme")
            case $seen in
            "$page $width: $width of $width, 0 cut "*) ok ;;
            *) no "$page at $width px, $scheme: '$seen'" ;;
            esac
        done
    done
    case $(grep '^wide 390: ' "$work/$scheme") in
    *" 390 of "* | "") no "a page of 800 px fits into 390 px: the browser measures nothing" ;;
    *) ok ;;
    esac
done
if [ "$(grep -o 'rgb.*' "$work/dark" | head -1)" = "$(grep -o 'rgb.*' "$work/light" |
    head -1)" ]; then no "dark is light"; else ok; fi
if grep -lE '<script|https?://|<link|@import|url\(' "$work/families.html" "$work/atomic.html" \
    "$work/levels.html"; then no "a page asks for something"; else ok; fi

conclude 18
