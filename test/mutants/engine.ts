import type { MutantsByFile } from './mutant.ts';

/** Mutants of resuming, running, stopping and waiting. */
export const engineMutants: MutantsByFile = {
  'src/steps/cluster/wait-for-masters.ts': [
    {
      means: 'a host that joined under two names counts twice',
      from: 'counted.set(host, name);',
      to: 'counted.set(name, name);',
    },
  ],
  'src/engine/check.ts': [
    {
      means: 'an input may be fetched after a loss',
      from: 'if (step.preflight !== true && step.fetches !== true) continue;',
      to: 'if (step.preflight !== true) continue;',
    },
    {
      means: 'a disk is cleaned before what the write needs is known',
      from: 'late.set(gives, step.id)',
      to: 'late.delete(gives)',
    },
    {
      means: 'what another lane destroys meanwhile is not counted',
      from: 'destroyer: earlier ?? own ?? beside',
      to: 'destroyer: earlier ?? own',
    },
    {
      means: 'what follows from the world after a loss is wanted before it',
      from: 'needsOf(step).some(({ name }) => follows.has(name))',
      to: 'false',
    },
  ],
  'src/roles/phases.ts': [
    {
      means: 'the disk is cleaned before the Ignition is there',
      from: `  chooseImage,
] as const;

/**
 * Writes the operating system, with the Ignition of this host, to where the host boots from. Nothing is destroyed before,
 * and by then every input has been fetched and checked.
 */
export const writeSystem = [
  runBeforeHook,
  checkInputs,
  formatExtraDisks,
  cleanDisk,
  writeImage`,
      to: `  chooseImage,
  cleanDisk,
] as const;

export const writeSystem = [formatExtraDisks, writeImage`,
    },
  ],
  'src/engine/resume.ts': [
    {
      means: 'a journal of another configuration is gone on with',
      from: 'found.fingerprint !== wanted.fingerprint',
      to: 'false',
    },
    {
      means: 'a journal of another role is gone on with',
      from: 'found.role !== wanted.role',
      to: 'false',
    },
    {
      means: 'a journal of another version is gone on with',
      from: 'found.version !== wanted.version',
      to: 'false',
    },
    {
      means: 'a journal of an earlier boot is gone on with',
      from: 'found.bootId !== wanted.bootId',
      to: 'false',
    },
    {
      means: 'a step that was begun is taken for one that never began',
      from: "else past.set(entry.step, { state: 'begun' });",
      to: 'else past.delete(entry.step);',
    },
    {
      means: 'a step that is always run again is reused',
      from: "record === undefined || rerun === 'always'",
      to: 'record === undefined',
    },
    {
      means: 'a step that leaves the host is not asked whether it happened',
      from: "leaves && rerun === 'probe' ? 'probe' : 'reuse'",
      to: "'reuse'",
    },
    {
      means: 'a step that stopped is run without asking whether it was done',
      from: "rerun === 'probe' ? 'probe' : 'run'",
      to: "'run'",
    },
    {
      means: 'what was found is looked for again behind the step that changes it',
      from: 'freshUntil !== undefined && ![freshUntil].flat().some((id) => past.has(id))',
      to: 'freshUntil !== undefined',
    },
  ],
  'src/engine/run-step.ts': [
    {
      means: 'a step begins in a run that nobody wants any more',
      from: 'orEnded.throwIfAborted();',
      to: 'signal.throwIfAborted();',
    },
    {
      means: 'a fact of a lane that has ended is waited for',
      from: 'gather(context, step, orEnded)',
      to: 'gather(context, step, signal)',
    },
    {
      means: 'a fact is not checked by its schema',
      from: 'gives.schema.parse(value)',
      to: 'value',
    },
    {
      means: 'the end of a step is not on the disk when its fact is used',
      from: "'finished', step: id, fact }, { flush: true }",
      to: "'finished', step: id, fact }, { flush: false }",
    },
    {
      means: 'the end of a step is not waited for',
      from: "await record(context, { type: 'finished'",
      to: "void record(context, { type: 'finished'",
    },
    {
      means: 'a step that was stopped counts as failed',
      from: "if (signal.aborted) {\n      context.emit({ type: 'step.stopped'",
      to: "if (!signal) {\n      context.emit({ type: 'step.stopped'",
    },
    {
      means: 'a secret in a failure reaches the journal',
      from: 'context.mask(failure.message)',
      to: 'failure.message',
    },
    {
      means: 'a step is run without asking whether it happened',
      from: "probesFirst: action === 'probe'",
      to: 'probesFirst: false',
    },
    {
      means: 'a step begins after the stop',
      from: '  orEnded.throwIfAborted();\n  if (step.when',
      to: '  if (step.when',
    },
    {
      means: 'a finished step that looks after nothing runs again',
      from: '?? true;\n  try {',
      to: '?? false;\n  try {',
    },
    {
      means: 'what cannot be looked at counts as kept',
      from: '    return false;\n  }\n}\n\n/** Whether it must be on',
      to: '    return true;\n  }\n}\n\n/** Whether it must be on',
    },
    {
      means: 'what a finished step made is taken for kept whatever the step says',
      from: '(await attemptOnce(context, placed, { signal, work })) === true',
      to: '(await attemptOnce(context, placed, { signal, work })) !== undefined',
    },
    {
      means: 'a run that nobody wants any more continues waiting',
      from: 'untilOf(context.clock, orHalted(context, signal), {',
      to: 'untilOf(context.clock, signal, {',
    },
    {
      means: 'what an attempt or a probe set up stays',
      from: "await unwind(context, placed, undo.unwind('success'));",
      to: '',
    },
    {
      means: 'the begin of a step that destroys is not on the disk when it begins',
      from: "destroys === true || rerun !== 'safe'",
      to: "rerun !== 'safe'",
    },
    {
      means: 'the begin of a step that must not run twice is not on the disk when it begins',
      from: "destroys === true || rerun !== 'safe'",
      to: 'destroys === true',
    },
    {
      means: 'a step does not wait for its begin to be kept',
      from: "await record(context, { type: 'started'",
      to: "void record(context, { type: 'started'",
    },
    {
      means: 'the last report is not awaited before the reboot',
      from: 'if (step.leaves === true) await context.beforeLeaving(signal);',
      to: 'if (step.leaves === true) void context.beforeLeaving(signal);',
    },
    {
      means: 'the last report is awaited before every step',
      from: 'if (step.leaves === true) await context.beforeLeaving(signal);',
      to: 'await context.beforeLeaving(signal);',
    },
    {
      means: 'attempts follow each other without a pause',
      from: 'await context.clock.sleep(every, orHalted(context, signal));',
      to: '',
    },
    {
      means: 'a stopped step is tried again',
      from: 'if (signal.aborted) throw error;',
      to: '',
    },
    {
      means: 'a step is tried once less than it says',
      from: 'attempt >= most',
      to: 'attempt >= most - 1',
    },
    {
      means: 'what a failed attempt set up stays',
      from: "await unwind(context, placed, undo.unwind('failure'));",
      to: '',
    },
    {
      means: 'what a step that succeeded leaves on purpose is undone',
      from: "if (when === 'failure' && outcome === 'success') continue;",
      to: '',
    },
    {
      means: 'what was set up first is undone first',
      from: '.splice(0).reverse()',
      to: '.splice(0)',
    },
    {
      means: 'a step is given every port',
      from: 'placed.step.uses.map(',
      to: 'Object.keys(context.ports).map(',
    },
    {
      means: 'what a probe found is not handed on',
      from: 'return answer.fact;',
      to: 'return undefined;',
    },
  ],
  'src/engine/run.ts': [
    {
      means:
        'a lane that writes a disk is cut off where another has found that nobody wants the run',
      from: 'if (!shared.aborted && !isHalted)',
      to: 'if (!shared.aborted)',
    },
    {
      means: 'a follow step outlives the run',
      from: '    await following;\n',
      to: '',
    },
    {
      means: 'a follow step is not told that the run has ended',
      from: "background.abort(new Error('the run has ended'));",
      to: '',
    },
    {
      means: 'only the first of what always runs is waited for',
      from: 'await Promise.all(\n    steps.map',
      to: 'await Promise.race(\n    steps.map',
    },
    {
      means: 'the run continues behind the first lane that ends',
      from: 'await Promise.all(runs);',
      to: 'await Promise.race(runs);',
    },
    {
      means: 'what always runs is reused from an earlier run',
      from: 'runAside({ ...context, past: new Map() }',
      to: 'runAside({ ...context }',
    },
    {
      means: 'the header of the journal is not on the disk when the run begins',
      from: 'await journal.append(renderRecord(wanted), { flush: true });',
      to: 'await journal.append(renderRecord(wanted), { flush: false });',
    },
    {
      means: 'a journal that is not gone on with is written on',
      from: '    await journal.setAside();\n',
      to: '',
    },
    {
      means: 'a journal that is not kept ends what always runs',
      from: 'context.journal.append(line, options).catch(() => undefined)',
      to: 'context.journal.append(line, options)',
    },
    {
      means: 'a run that continues says that it is a new one',
      from: 'isResumed: past.size > 0',
      to: 'isResumed: false',
    },
    {
      means: 'a lane that fails lets the others continue',
      from: 'if (!shared.aborted && !isHalted) first.abort(error);',
      to: '',
    },
  ],
  'src/engine/limit.ts': [
    {
      means: 'what is told to stop has no time for it',
      from: 'seconds(2.5)',
      to: 'seconds(0)',
    },
    {
      means: 'what is told to stop may take longer than podman waits',
      from: 'seconds(2.5)',
      to: 'seconds(60)',
    },
    {
      means: 'an echo of the stop takes the place of its reason',
      from: 'if (inner.signal.aborted) throw inner.signal.reason;',
      to: '',
    },
    {
      means: 'work that begins after the stop is not told of it',
      from: 'if (signal.aborted) forward();',
      to: '',
    },
    {
      means: 'the work is not told that its limit has passed',
      from: 'inner.abort(late());',
      to: '',
    },
  ],
  'src/engine/journal.ts': [
    {
      means: 'entries behind an unreadable one are believed',
      from: 'if (!entry.success) break;',
      to: 'if (!entry.success) continue;',
    },
    {
      means: 'an entry may have a time that no date has',
      from: 'z.number().min(0).max(8.64e15)',
      to: 'z.number()',
    },
  ],
  'src/engine/wait.ts': [
    {
      means: 'a status that has not changed is reported again',
      from: 'if (seen.status !== reported)',
      to: 'if (reported !== null)',
    },
    {
      means: 'a wait ends later than its limit',
      from: 'Math.min(every ?? rest, rest)',
      to: 'every ?? rest',
    },
    {
      means: 'a watch outlives its wait',
      from: '      await changes.close();\n',
      to: '',
    },
    {
      means: 'a watch that fails is waited on',
      from: 'if (failure !== undefined) throw failure.reason;',
      to: '',
    },
  ],
};
