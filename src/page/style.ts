/**
 * The style of the page: calm, in the colours of the reader's system, for screens from a phone to a
 * wall display. The edge of a scrollable element has a shadow if there is more content.
 */
export const style = `
:root { color-scheme: light dark;
  --bg: #f4f6f8; --panel: #fff; --text: #1b2128; --soft: #525c67; --line: #d5dce3; --todo: #dfe5eb; --shade: #c3ccd5;
  --busy: #0a5fc4; --waiting: #8a5700; --good: #17713a; --bad: #bd1f1f;
  --prepare: #75818d; --write: #2274d8; --build: #8a4fd0; --wait: #e0b252; --boot: #22918a; --live: #b0673f; --idle: #dfe5eb; }
@media (prefers-color-scheme: dark) { :root {
  --bg: #0f1318; --panel: #171d24; --text: #e4eaf0; --soft: #a0acb8; --line: #2c3540; --todo: #2c3540; --shade: #000;
  --busy: #74b6ff; --waiting: #e5b84a; --good: #58c97d; --bad: #ff8077;
  --prepare: #7d8a97; --write: #4a94ee; --build: #a878e6; --wait: #a88335; --boot: #35a79f; --live: #c98a5e; --idle: #232b34; } }
* { box-sizing: border-box; }
html { font: 15px/1.45 system-ui, sans-serif; background: var(--bg); color: var(--text); }
@media (min-width: 2400px) { html { font-size: 19px; } }
body { margin: 0; }
h1, h2, h3, p, ul, ol { margin: 0; padding: 0; }
h1 { font-size: 1.15rem; }
h2 { font-size: 1rem; margin-bottom: .6rem; }
h3 { font-size: .95rem; }
ul, ol { list-style: none; }
small { font-size: .85em; color: var(--soft); }
time, td, .bar { font-variant-numeric: tabular-nums; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[hidden] { display: none !important; }
:focus-visible { outline: 2px solid var(--busy); outline-offset: 2px; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; padding: .4rem .8rem; background: var(--panel); }
a { color: var(--busy); }
#top { position: sticky; top: 0; z-index: 1; padding: .5rem clamp(.8rem, 2vw, 2.5rem); background: var(--panel); border-bottom: 1px solid var(--line); }
.heading { display: flex; flex-wrap: wrap; gap: .2rem 1.5rem; align-items: baseline; justify-content: space-between; }
.heading h1 { flex: 1 1 18rem; overflow-wrap: anywhere; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.heading .facts { flex: 0 1 auto; overflow-wrap: anywhere; }
@media (min-width: 1100px) and (min-height: 601px) { .heading { flex-wrap: nowrap; } .heading .facts { flex-shrink: 0; max-width: 65%; } }
#intro { display: grid; gap: .6rem; }
#intro:not(:has(p, li)), #intro > :not(:has(p, li)) { display: none; }
.about { color: var(--soft); font-size: .9rem; max-width: 90ch; }
.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; align-items: center; margin: .35rem 0 .5rem; }
.failure { margin-top: .6rem; padding: .7rem 1rem; border: 1px solid var(--bad); border-left-width: 4px; border-radius: 8px; background: var(--panel); overflow-wrap: anywhere; }
.failure h2 { margin-bottom: .2rem; } .failure p + p { margin-top: .15rem; }
button { margin-top: .5rem; font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--soft); border-radius: 6px; padding: .15rem .8rem; cursor: pointer; }
#gone { position: fixed; inset: auto 0 0; z-index: 2; }
.last-error, #gone { padding: .4rem .7rem; border-left: 3px solid var(--bad); background: var(--bg); overflow-wrap: anywhere; }
.details { margin-top: .5rem; color: var(--bad); overflow-wrap: anywhere; }
progress { appearance: none; display: block; width: 100%; height: 6px; border: 0; border-radius: 3px; overflow: hidden; background: var(--todo); color: var(--busy); }
progress::-webkit-progress-bar { background: var(--todo); }
progress.is-good, progress.is-bad { color: var(--tone); }
progress::-webkit-progress-value { background: var(--tone, var(--busy)); transition: width .4s; }
progress::-moz-progress-bar { background: var(--tone, var(--busy)); }
main { display: grid; gap: 1rem; padding: 1rem clamp(.8rem, 2vw, 2.5rem) 2rem; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 1100px) { main { grid-template-columns: minmax(0, 2.4fr) minmax(18rem, 1fr); } .wide { grid-column: 1 / -1; }
  .side { contain: size; min-height: 16rem; } .side:not(:has(.objects li)) { contain: none; min-height: 0; } #cluster { min-height: 0; } }
.panel, #hosts > section { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: .8rem 1rem; min-width: 0; }
.side, #cluster { display: flex; flex-direction: column; gap: 1rem; min-width: 0; }
#cluster, #cluster > section { gap: 0; display: flex; flex-direction: column; min-height: 0; } #injected { overflow-y: auto; flex: none; max-height: 40%; }
#hosts { display: grid; gap: .8rem; align-content: start; grid-template-columns: minmax(0, 1fr); }
@media (min-width: 1900px) { #hosts { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
#hosts header { display: flex; flex-wrap: wrap; gap: .2rem .7rem; align-items: baseline; }
#hosts header h3, #hosts header .badge { overflow-wrap: anywhere; }
#hosts header .badge { margin-left: auto; text-align: right; }
.role { color: var(--soft); }
.badge { font-weight: 600; }
.badge i, .objects i { font-style: normal; }
.is-busy { --tone: var(--busy); } .is-waiting { --tone: var(--waiting); } .is-good { --tone: var(--good); }
.is-bad { --tone: var(--bad); } .is-idle, .is-stopped { --tone: var(--soft); }
.badge, .objects i { color: var(--tone); }
svg { display: block; width: 100%; overflow: visible; }
.rail { margin: .5rem 0; }
.count::before { content: '▸ '; } [open] .count::before { content: '▾ '; }
.cell { fill: var(--todo); }
.cell.is-finished, .cell.is-reused { fill: var(--good); }
.cell.is-running { fill: var(--busy); fill-opacity: .45; animation: breathe 2.4s ease-in-out infinite; }
.part { fill: var(--busy); }
.cell.is-waiting { fill: var(--wait); animation: breathe 2.4s ease-in-out infinite; }
.cell.is-failed { fill: var(--bad); } .cell.is-stopped { fill: var(--soft); }
.cell.is-skipped { fill: none; stroke: var(--line); }
@keyframes breathe { 50% { opacity: .55; } }
@media (prefers-reduced-motion: reduce) { .cell { animation: none !important; } progress::-webkit-progress-value { transition: none; } }
.now { display: grid; gap: .25rem; margin-top: .5rem; } .now:not(:has(li)) { display: none; }
.now li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 .8rem; padding-left: .6rem; border-left: 3px solid var(--tone); }
.now .what { overflow-wrap: anywhere; }
.now .bar { grid-column: 1; display: flex; white-space: nowrap; align-items: center; gap: .6rem; }
.now .why { grid-column: 1 / -1; color: var(--soft); font-size: .9rem; overflow-wrap: anywhere; }
.now time { grid-column: 2; grid-row: 1; color: var(--soft); }
details { margin-top: .1rem; }
summary { display: block; cursor: pointer; color: var(--soft); font-size: .9rem; }
.steps { margin-top: .4rem; columns: 24rem; column-gap: 2rem; font-size: .9rem; }
.steps li { break-inside: avoid; overflow-wrap: anywhere; }
.steps .is-todo, .steps .is-skipped { color: var(--soft); }
.steps .is-running, .steps .is-waiting { font-weight: 600; }
.steps .is-failed { color: var(--bad); }
.none { color: var(--soft); font-size: .9rem; }
.side h3 { margin: .6rem 0 .15rem; }
#injected:not(:has(li)) { display: none; }
.objects { font-size: .9rem; }
.objects li { overflow-wrap: anywhere; }
.objects b { font-weight: 500; }
.kinds { overflow-y: auto; min-height: 0; }
@media (max-width: 1099px) { .kinds { max-height: 44rem; } }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin-bottom: .7rem; font-size: .9rem; color: var(--soft); }
.legend:empty { display: none; }
#rails .legend { margin: 0 0 .5rem; gap: .1rem .9rem; font-size: .85rem; }
.cell-finished { background: var(--good); } .cell-running { background: var(--busy); } .cell-waiting { background: var(--wait); }
.cell-failed { background: var(--bad); } .cell-stopped { background: var(--soft); } .cell-todo { background: var(--todo); border: 1px solid var(--soft); }
.legend i, th i, .longest i { display: inline-block; width: .7em; height: .7em; margin-right: .35em; border-radius: 2px; }
i.work-live { background: var(--live); } rect.work-live { fill: var(--live); } i.work-prepare { background: var(--prepare); } i.work-write { background: var(--write); } i.work-build { background: var(--build); }
i.work-wait { background: var(--wait); } i.work-boot { background: var(--boot); } i.work-idle { background: var(--idle); border: 1px solid var(--line); }
i.mark-bad { background: var(--bad); }
.row { display: grid; grid-template-columns: minmax(3.5rem, auto) minmax(0, 1fr) 6.2rem; gap: .8rem; align-items: start; padding: .25rem 0; border-top: 1px solid var(--line); }
.timeline { display: grid; grid-template-columns: minmax(3.5rem, max-content) minmax(0, 1fr) max-content; column-gap: .8rem; }
.timeline .row { grid-column: 1 / -1; grid-template-columns: subgrid; }
.row b { max-width: 16rem; overflow-wrap: anywhere; font-weight: 600; font-size: .9rem; line-height: 1.1; }
.row small { text-align: right; white-space: nowrap; }
rect.work-prepare { fill: var(--prepare); } rect.work-write { fill: var(--write); } rect.work-build { fill: var(--build); }
rect.work-wait { fill: var(--wait); } rect.work-boot { fill: var(--boot); } rect.work-idle { fill: var(--idle); }
rect.is-open { fill-opacity: .7; } rect.is-bad { stroke: var(--bad); stroke-width: 2; }
rect.mark-bad { fill: var(--bad); } rect.mark-stopped { fill: var(--soft); } .mark-good { fill: var(--good); fill-opacity: .75; }
.scale { color: var(--soft); } .scale text { fill: var(--soft); font-size: .75rem; } .scale rect { fill: var(--soft); }
#time h3 { margin: 1rem 0 .4rem; }
.kinds, #lines, #injected { background: linear-gradient(var(--panel) 33%, transparent) top / 100% 2.4rem local, linear-gradient(transparent, var(--panel) 67%) bottom / 100% 2.4rem local,
  linear-gradient(var(--shade), transparent) top / 100% .8rem scroll, linear-gradient(transparent, var(--shade)) bottom / 100% .8rem scroll; background-repeat: no-repeat; background-color: var(--panel); }
.scroll { overflow-x: auto; background: linear-gradient(90deg, var(--panel) 33%, transparent) left / 2.4rem 100% local, linear-gradient(90deg, transparent, var(--panel) 67%) right / 2.4rem 100% local,
  linear-gradient(90deg, var(--shade), transparent) left / .8rem 100% scroll, linear-gradient(90deg, transparent, var(--shade)) right / .8rem 100% scroll; background-repeat: no-repeat; background-color: var(--panel); }
table { border-collapse: collapse; font-size: .9rem; }
th, td { padding: .2rem 1.2rem .2rem 0; text-align: left; white-space: nowrap; font-weight: 400; }
thead th { color: var(--soft); } tbody th { font-weight: 600; }
.longest { font-size: .9rem; } .longest li { overflow-wrap: anywhere; }
.tools { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin-bottom: .6rem; }
.tools label { display: flex; gap: .4rem; align-items: center; }
#filter { font: inherit; color: inherit; background: var(--bg); border: 1px solid var(--soft); border-radius: 6px; padding: .25rem .6rem; width: min(22rem, 70vw); }
#lines { max-height: 26rem; overflow-y: auto; font: .83rem/1.5 ui-monospace, monospace; }
#lines li { overflow-wrap: anywhere; padding-left: 1rem; text-indent: -1rem; }
#lines time { color: var(--soft); } #lines b { font-weight: 600; }
.level-debug { color: var(--soft); } .level-warn span { color: var(--waiting); } .level-error span { color: var(--bad); }
@media (max-width: 700px) { .timeline { display: block; } .timeline .row { grid-template-columns: minmax(0, 1fr) auto; }
  .row svg { grid-column: 1 / -1; grid-row: 2; } .row b { max-width: none; } .scale g:nth-child(even) { display: none; } }
@media (max-width: 700px), (max-height: 600px) { #top { position: static; } }
@media print { #top { position: static; } .side { contain: none; } #lines { max-height: none; } }
`;
