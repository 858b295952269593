"""The style sheet of every report: light, dark, phone and paper.

Line colours follow Okabe and Ito, who chose them to be told apart by colour-blind readers; each look also has a line
style of its own, so that a grey print can be read.
"""

_DASHES = ("", "7 3", "2 2.5", "4 3", "8 2 2 2", "1 3")  # by look; robot solid, simulator dashed
_LIGHT = ("#0072b2", "#c75000", "#00805e", "#6a7480", "#a8437c", "#7d6600")
_DARK = ("#56b4e9", "#f0a030", "#35cda0", "#9aa5b1", "#e79bc6", "#f0e442")


def _looks() -> str:
    rules = []
    for i, dash in enumerate(_DASHES):
        dashed = f";stroke-dasharray:{dash}" if dash else ""
        rules.append(
            f".k{i}{{fill:none;stroke:var(--k{i});stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round{dashed}}}"
        )
        rules.append(
            f".f{i}{{fill:var(--k{i});fill-opacity:.3}}.b{i}{{fill:var(--k{i});fill-opacity:.18}}.d{i}{{fill:var(--k{i})}}"
        )
    return "\n".join(rules)


def _colours(colours: tuple[str, ...]) -> str:
    return "".join(f"--k{i}:{colour};" for i, colour in enumerate(colours))


_LIGHT_ROOT = (
    ":root{color-scheme:light"
    f" dark;{_colours(_LIGHT)}--bg:#fff;--soft:#f4f6f8;--fg:#1b2026;--muted:#59636e;--rule:#dfe4e9;--axis:#8a949e;"
    "--heat:#4aa3d8;--cold:#ec9a5c;--point:#f3d98b;--hatch:#8a949e;--good:#00694f;--warn:#8a5200;--bad:#b3261e}"
)
_DARK_ROOT = (
    f":root{{{_colours(_DARK)}--bg:#14181c;--soft:#1e2429;--fg:#e9edf1;--muted:#a3aeb9;--rule:#333b43;--axis:#76828d;"
    "--heat:#0a6cab;--cold:#9a5010;--point:#6b5a1e;--hatch:#76828d;--good:#4fd1a5;--warn:#f5b83d;--bad:#ff8f85}"
)

STYLE = f"""
{_LIGHT_ROOT}
@media screen and (prefers-color-scheme:dark){{{_DARK_ROOT}}}
*{{box-sizing:border-box}}
html{{-webkit-text-size-adjust:100%}}
body{{margin:0;background:var(--bg);color:var(--fg);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}}
main{{max-width:920px;margin:0 auto;padding:28px 20px 64px}}
h1{{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;overflow-wrap:anywhere}}
h2{{font-size:1.25rem;line-height:1.3;margin:2.75rem 0 .75rem;padding-top:1.1rem;border-top:1px solid var(--rule)}}
h3{{font-size:1.02rem;line-height:1.35;margin:1.75rem 0 .5rem;overflow-wrap:anywhere}}
p{{margin:.5rem 0 .9rem;max-width:68ch;overflow-wrap:anywhere;white-space:pre-line}}
.subtitle,figcaption,caption,.lead{{color:var(--muted)}}
.subtitle{{margin:0 0 1.25rem}}
.tiles{{display:grid;grid-template-columns:repeat(auto-fill,minmax(185px,1fr));gap:12px;
margin:1rem 0 1.25rem;padding:0;list-style:none}}
.tile{{background:var(--soft);border-radius:8px;border-left:4px solid var(--rule);padding:10px 14px 12px;min-width:0}}
.tile .name{{font-size:.8rem;color:var(--muted);display:block}}
.tile .value{{font-size:1.5rem;line-height:1.25;font-weight:650;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}}
.tile .unit{{font-size:.9rem;font-weight:400;color:var(--muted);margin-left:.25em}}
.tile .beside{{font-size:.8rem;color:var(--muted);display:block;overflow-wrap:anywhere}}
.good{{border-left-color:var(--good)}}.warn{{border-left-color:var(--warn)}}.bad{{border-left-color:var(--bad)}}
.state{{font-size:.8rem;font-weight:650;display:block}}
.good .state{{color:var(--good)}}.warn .state{{color:var(--warn)}}.bad .state{{color:var(--bad)}}
figure{{margin:1.1rem 0 1.5rem}}
figcaption{{font-size:.875rem;line-height:1.45;margin-top:.5rem;max-width:76ch;overflow-wrap:anywhere}}
.panels{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(250px,100%),1fr));gap:18px 22px;
align-items:start}}
.panels svg{{width:100%}}
.legend{{margin:0 0 .6rem;display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.85rem}}
.legend span{{display:inline-flex;align-items:center;gap:7px}}
.narrow{{display:none}}
svg{{max-width:100%;height:auto;display:block}}
.legend svg,.state svg,.mark svg{{display:inline-block;flex:none}}
.scroll{{overflow-x:auto;margin:.75rem 0 1.25rem}}
table{{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}}
caption{{caption-side:bottom;text-align:left;padding-top:.5rem;font-size:.875rem}}
th,td{{padding:5px 14px 5px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}}
th{{font-weight:600;white-space:nowrap}}
td.number,th.number{{text-align:right;white-space:nowrap}}
.card{{border:1px solid var(--rule);border-left-width:5px;border-radius:8px;padding:14px 18px 8px;margin:0 0 16px}}
.card.good{{border-left-color:var(--good)}}.card.warn{{border-left-color:var(--warn)}}.card.bad{{border-left-color:var(--bad)}}
.card h3{{margin:.15rem 0 .6rem}}
.card dl{{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 16px;margin:0 0 .6rem;font-size:.94rem}}
.card dt{{color:var(--muted)}}
.card dd{{margin:0;overflow-wrap:anywhere;white-space:pre-line}}
.card figure{{margin:.9rem 0 .6rem}}
.mark{{display:inline-flex;align-items:center;gap:7px;font-size:.8rem;font-weight:650}}
.mark.good{{color:var(--good)}}.mark.warn{{color:var(--warn)}}.mark.bad{{color:var(--bad)}}.mark.plain{{color:var(--muted)}}
.mark .code{{font-weight:400;color:var(--muted)}}
code{{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
background:var(--soft);border-radius:4px;padding:1px 5px;overflow-wrap:anywhere;white-space:pre-wrap}}
details{{margin:1rem 0}}
summary{{cursor:pointer;font-weight:600}}
details td{{overflow-wrap:anywhere}}
.chart text{{font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;fill:var(--fg)}}
.chart .t{{font-size:12px;font-weight:650}}
.chart tspan.m{{font-weight:400;font-size:11px}}
.chart .m{{fill:var(--muted)}}
.chart .e{{text-anchor:end}}
.chart .c{{text-anchor:middle}}
.chart .w{{paint-order:stroke;stroke:var(--bg);stroke-width:3px;stroke-linejoin:round}}
.chart .j{{font-size:9px}}
.chart .z{{fill:var(--warn);font-weight:650}}
.g{{stroke:var(--rule);stroke-width:1;fill:none}}
.a{{stroke:var(--axis);stroke-width:1;fill:none}}
.l{{stroke:var(--fg);stroke-width:1;stroke-dasharray:2 3;fill:none}}
.n{{fill:none;stroke:var(--rule)}}
.p{{fill:var(--point);fill-opacity:.55}}
.s{{fill:var(--axis);fill-opacity:.14}}
.h{{stroke:var(--hatch);stroke-width:.8;fill:none}}
.r{{fill:var(--bg);stroke:var(--fg);stroke-width:1.4}}
.u{{fill:var(--heat)}}.v{{fill:var(--cold)}}
.x{{fill:var(--bg);stroke:var(--k3);stroke-width:1.6}}
{_looks()}
.q0{{stroke-opacity:.4;stroke-dasharray:none}}.q1{{stroke-opacity:.65;stroke-dasharray:none}}.q2{{stroke-opacity:1;stroke-dasharray:none}}
.o{{stroke-dasharray:none;stroke-width:1;stroke-opacity:.8}}
.i{{stroke-dasharray:none;stroke-width:2}}
.y{{fill-opacity:.55}}
@media (max-width:600px){{
main{{padding:18px 16px 48px}}
h1{{font-size:1.4rem}}
.tiles{{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}}
.tile .value{{font-size:1.25rem}}
.wide{{display:none}}.narrow{{display:block}}
.card{{padding:12px 14px 6px}}
.card dl{{display:block}}.card dd{{margin:0 0 .5rem}}
}}
@media print{{
@page{{margin:14mm}}
body{{font-size:10.5pt}}
main{{max-width:none;padding:0}}
h2,h3{{break-after:avoid}}
.tile,.card,svg,tr{{break-inside:avoid}}
.legend{{break-after:avoid}}
figure.whole{{break-inside:avoid}}
.panels{{grid-template-columns:repeat(3,minmax(0,1fr));gap:12px 14px}}
.tiles{{grid-template-columns:repeat(4,minmax(0,1fr))}}
.tile .value{{font-size:1.2rem}}
.wide{{display:block}}.narrow{{display:none}}
.scroll{{overflow:visible}}
details::details-content{{content-visibility:visible;block-size:auto;display:block}}
details:not([open])>:not(summary){{display:block}}
*{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
}}
""".strip()
