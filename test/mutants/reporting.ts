import type { MutantsByFile } from './mutant.ts';

/** Mutants of the journal, the reports and the log. */
export const reportingMutants: MutantsByFile = {
  'src/cli/run-context.ts': [
    {
      means: 'half a secret is left where a text of an event is cut',
      from: 'plainText(mask(text))',
      to: 'mask(plainText(text))',
    },
  ],
  'src/cli/doctor/network-checks.ts': [
    {
      means: 'doctor says nothing of Ignition that leaves no place for registries',
      from: 'await withRegistries(scope, found.config);',
      to: '',
    },
    {
      means: 'doctor says nothing of bootstrap.ign of a host that starts a cluster',
      from: '    ...(isFirst\n',
      to: '    ...(false\n',
    },
    {
      means: 'doctor wants bootstrap.ign of every host',
      from: '    ...(isFirst\n',
      to: '    ...(true\n',
    },
    {
      means: 'doctor hides what is doubtful in Ignition',
      from: 'if (warnings.length === 0) return ok(says);',
      to: 'if (warnings.length >= 0) return ok(says);',
    },
    {
      means: 'doctor fails for Ignition that a service makes once the installation begins',
      from: "if (code !== 'inventory.not-ready' && code !== 'inventory.refused') throw thrown;",
      to: 'throw thrown;',
    },
    {
      means: 'doctor takes Ignition that is broken for one that comes later',
      from: "if (code !== 'inventory.not-ready' && code !== 'inventory.refused') throw thrown;",
      to: '',
    },
    {
      means: 'doctor fails where no source of Ignition is set, which the settings say',
      from: '  } catch {\n    return [];\n  }\n  const ask',
      to: '  } catch (thrown) {\n    throw thrown;\n  }\n  const ask',
    },
  ],
  'src/cli/doctor/preflight.ts': [
    {
      means: 'doctor says nothing of Ignition that wipes what is kept',
      from: 'await refuseWipes(scope, disk, ignition);',
      to: '',
    },
    {
      means: 'doctor judges Ignition that coreos-installer is not given',
      from: 'own === undefined',
      to: "own !== ''",
    },
  ],
  'src/cli/medium.ts': [
    {
      means: 'a medium names a file of the machine that it was made on',
      from: 'for (const key of texts.keys()) move(key, pathOf(key));',
      to: '',
    },
    {
      means: 'a medium installs without the keyfiles that it has',
      from: "if (keyfiles.size > 0) move('network.keyfiles', keyfileFolder);",
      to: '',
    },
    {
      means: 'the password of a proxy in the settings is no secret',
      from: "what: 'settings of the agent', isSecret: hasCredentials(text)",
      to: "what: 'settings of the agent', isSecret: false",
    },
    {
      means: 'the password of a proxy beside the settings is no secret',
      from: "item(livePaths.proxy, 'proxies', hasCredentials(`${http} ${https}`))",
      to: "item(livePaths.proxy, 'proxies')",
    },
    {
      means: 'registry credentials are no secret',
      from: "item(livePaths.pullSecret, 'registry credentials', true)",
      to: "item(livePaths.pullSecret, 'registry credentials')",
    },
    {
      means: 'a token is no secret',
      from: 'isSecret: !/\\.ca(File)?$/.test(key)',
      to: "isSecret: key.endsWith('.ign')",
    },
    {
      means: 'a certificate is a secret',
      from: 'isSecret: !/\\.ca(File)?$/.test(key)',
      to: 'isSecret: true',
    },
    {
      means: 'the password of a keyfile is no secret',
      from: "isSecret: text.split('\\n').some(isSecretLine)",
      to: 'isSecret: false',
    },
    {
      means: 'NetworkManager takes no keyfile of a medium: others may read it',
      from: 'mode = 0o600 }',
      to: 'mode = 0o644 }',
    },
    {
      means: 'the image of the agent is pulled without credentials',
      from: "pullSecret === undefined ? '' : `--authfile",
      to: "true ? '' : `--authfile",
    },
    {
      means: 'a medium does not trust the authority of its service',
      from: "const trusted = [texts.get('service.caFile'), ",
      to: 'const trusted = [',
    },
    {
      means: 'what a host loses has not what it keeps',
      from: "disk.keep.length === 0 ? ''",
      to: "disk.keep.length >= 0 ? ''",
    },
    {
      means: 'what a host loses has not the disks that are formatted',
      from: 'return [lost, ...disk.format]',
      to: 'return [lost]',
    },
    {
      means:
        'a live system that is made pulls the agent from no mirror with an authority of its own',
      from: "texts.get('service.caFile'), texts.get('registries.ca')",
      to: "texts.get('service.caFile')",
    },
    {
      means: 'a hook in a medium cannot be run',
      from: '{ mode: 0o700 }',
      to: '{ mode: 0o600 }',
    },
  ],
  'src/cli/watch-hosts.ts': [
    {
      means: 'an agent that was killed while it rebooted its host counts as installed at once',
      from: 'if (isInstalled || isPast(leftAt)) return',
      to: 'if (isInstalled || leftAt !== undefined) return',
    },
    {
      means: 'a host that answers again is still about to leave',
      from: '  return {\n    status,\n    lines: [...(isBack',
      to: '  return {\n    ...(leftAt === undefined ? {} : { leftAt }),\n    status,\n    lines: [...(isBack',
    },
    {
      means: 'a broken link in any step counts as installed',
      from: "running.some(({ step }) => step === 'finish/leave-host')",
      to: 'running.length > 0',
    },
    {
      means: 'a run that a unit starts again has failed at once',
      from: 'if (isPast(failed?.at)) break;',
      to: 'if (failed !== undefined) break;',
    },
    {
      means: 'the failure of an earlier run is that of the next one',
      from: '((isSameRun ? earlier : undefined) ?? { at, failure })',
      to: '(earlier ?? { at, failure })',
    },
    {
      means: 'each answer of a failed run begins its two minutes again',
      from: '((isSameRun ? earlier : undefined) ?? { at, failure })',
      to: '({ at, failure })',
    },
    {
      means: 'a host that failed hides one whose time is over',
      from: "if (failed.length > 0) throw cliFailure('cli.not-installed', failed.join('; '));",
      to: '',
    },
    {
      means: 'a watch that is over ends well although a host is not installed',
      from: 'if (unknown.length === 0) return;',
      to: 'if (unknown.length < outcomes.length) return;',
    },
    {
      means: 'an answer that came after the end of the watch counts',
      from: '    if (isOver()) break;\n',
      to: '',
    },
    {
      means: 'a server that serves something else counts as a status',
      from: "if (data === undefined) throw notFound('serves no status of a run');",
      to: 'if (data === undefined) return undefined as never;',
    },
    {
      means: 'the same error is printed each second',
      from: 'lastError === known.lastError ? [] :',
      to: 'lastError === undefined ? [] :',
    },
  ],
  'src/cli/watch.ts': [
    {
      means: 'a service that is restarted ends a wait by one refusal',
      from: 'at - (answeredAt ?? -Infinity) < refusesWithin',
      to: 'false',
    },
    {
      means: 'a token that was never taken is tried for the whole wait',
      from: 'at - (answeredAt ?? -Infinity) < refusesWithin',
      to: 'answeredAt === undefined',
    },
    {
      means: 'a cluster that was deleted is waited for',
      from: "if (code === 'inventory.not-found' && answeredAt !== undefined)",
      to: 'if (answeredAt === Infinity)',
    },
    {
      means: 'a page that nobody waits for ends by a refusal',
      from: 'else if (until !== undefined) throw',
      to: 'else throw',
    },
    {
      means: 'a secret that a service repeats is in the failure',
      from: 'const message = mask(failure.message);',
      to: 'const { message } = failure;',
    },
  ],
  'src/cli/logs/collect.ts': [
    {
      means: 'the pull secret of a host is unknown where the container does not see it',
      from: 'ports.host.readText(PULL_SECRET_PATH, within)',
      to: "Promise.resolve(String(within) && '')",
    },
  ],
  'src/cli/logs/collect-ssh.ts': [
    {
      means: 'an option of ssh is taken for a host',
      from: String.raw`/^[\w:][\w.:%-]*$/`,
      to: String.raw`/^[\w.:%=-]+$/`,
    },
    {
      means: 'whatever a host sends is kept as its logs',
      from: "throw notCollected(stderr, 'it sent no bundle of logs', cause);",
      to: "return { role: String(cause), state: '' };",
    },
    {
      means: 'the agent of ssh is forwarded to a host that nobody knows',
      from: "ForwardAgent: 'no', ",
      to: '',
    },
  ],
  'src/steps/logs/collectors.ts': [
    {
      means: 'a command that nothing ends costs the whole bundle',
      from: "'argv' in row.from ? limit + seconds(1) : limit",
      to: "'argv' in row.from ? unlimited : limit",
    },
  ],
  'src/adapters/bundle-file.ts': [
    {
      means: 'logs overwrite a file that is there',
      from: "'wx'",
      to: "'w'",
    },
  ],
  'src/adapters/journal.ts': [
    {
      means: 'appends are not flushed',
      from: 'if (flush) await file.datasync();',
      to: '',
    },
    {
      means: 'appends are not made in turn',
      from: 'last.then(work)',
      to: 'work()',
    },
    {
      means: 'part of a line stays behind a failed append',
      from: '          await close();\n          throw error;',
      to: '          throw error;',
    },
    {
      means: 'a torn line stays before what is appended',
      from: 'if (size > bytes) await file.truncate(bytes);',
      to: '',
    },
    {
      means: 'the name of a new journal is lost with the power',
      from: '  await flushDirectory(dirname(path));\n  return file;',
      to: '  return file;',
    },
    {
      means: 'a journal that was set aside comes back with the power',
      from: '        await flushDirectory(dirname(path));\n      }),',
      to: '      }),',
    },
    {
      means: 'one failed append fails all that follow',
      from: 'last = turn.catch(() => undefined);',
      to: 'last = turn;',
    },
  ],
  'src/reporting/reporter.ts': [
    {
      means: 'a wait that reports nothing never learns that the service wants its host back',
      from: 'confirming ??= untilEnded(clock, ended.signal, confirm)',
      to: 'confirming ??= Promise.resolve()',
    },
    {
      means: 'texts of one stage are sent as they come',
      from: 'const textsApart: Millis = seconds(10);',
      to: 'const textsApart: Millis = 0;',
    },
    {
      means: 'a text that waits holds up the next stage',
      from: 'if (isFailed || queue.onlyStage() === undefined) pacer.hurry();',
      to: 'if (isFailed) pacer.hurry();',
    },
    {
      means: 'who waits for the answers waits for a text',
      from: '    hurry();\n    return idle();',
      to: '    return idle();',
    },
    {
      means: 'a refusal means what its sentence says',
      from: '(await listedStatus(options, signal)) ?? named',
      to: 'named ?? (await listedStatus(options, signal))',
    },
    {
      means: 'a host that is being installed counts as refused',
      from: 'refusedIn = isBeingInstalled({ status }) ? undefined : status;',
      to: 'refusedIn = status;',
    },
    {
      means: 'half a secret is left where a report is cut',
      from: 'plainText(mask(report.info), longestInfo)',
      to: 'mask(plainText(report.info, longestInfo))',
    },
    {
      means: 'a report is longer than the service keeps',
      from: 'const longestInfo = 2000;',
      to: 'const longestInfo = 4000;',
    },
    {
      means: 'a run fails twice',
      from: '    if (isLastAdded) return;\n',
      to: '',
    },
    {
      means: 'a run fails after it has finished',
      from: "isLastAdded ||= event.type === 'run.finished';",
      to: '',
    },
    {
      means: 'stages follow on the failure',
      from: 'if (!isLastAdded) add(climb(event));',
      to: 'add(climb(event));',
    },
    {
      means: 'a service that does not answer is waited for twice',
      from: "isGivenUp = end === 'late';",
      to: '',
    },
    {
      means: 'a stop waits for reports that no longer matter',
      from: "if (end === 'stopped' && isLastAdded)",
      to: "if (end === 'stopped')",
    },
    {
      means: 'a stop waits longer than podman does',
      from: 'stoppedReportLimit: Millis = seconds(1.5)',
      to: 'stoppedReportLimit: Millis = seconds(30)',
    },
    {
      means: 'the last report holds the reboot for ten minutes',
      from: 'lastReportLimit: Millis = seconds(60)',
      to: 'lastReportLimit: Millis = seconds(600)',
    },
    {
      means: 'the failure waits for the pause of a report before it',
      from: '        failed.abort();\n',
      to: '',
    },
    {
      means: 'older reports are sent before the failure',
      from: '        queue.newest();\n        failed',
      to: '        failed',
    },
    {
      means: 'an old report is sent again where a newer one waits',
      from: 'current = queue.newest() ?? current;',
      to: '',
    },
    {
      means: 'a report that was sent early is sent twice',
      from: "if (outcome !== 'accepted') await send",
      to: 'await send',
    },
    {
      means: 'a report that was refused early is sent again',
      from: 'if (outcome instanceof AgentError) throw outcome;',
      to: '',
    },
    {
      means: 'another report is taken for the one that was sent early',
      from: 'early && isSame(early, report)',
      to: 'early',
    },
    {
      means: 'texts of one stage are all sent, however old',
      from: 'waiting = withNewest(waiting, report);',
      to: 'waiting = [...waiting, report];',
    },
  ],
  'src/reporting/ladder.ts': [
    {
      means: 'what a wait has missed is shown when it is over',
      from: "if (event.type === 'wait.finished') over.add(event.lane);",
      to: '',
    },
    {
      means: 'a lower stage is reported, which the service refuses',
      from: '!status.isReached || status.position < shown.position',
      to: '!status.isReached',
    },
    {
      means: 'a lane is reported before it has come to its first stage',
      from: '!status.isReached || status.position < shown.position',
      to: 'status.position < shown.position',
    },
    {
      means: 'each percent is a request',
      from: 'const percentStep = 5;',
      to: 'const percentStep = 1;',
    },
    {
      means: 'the end of the writing is not reported',
      from: ' || (percent === 100 && last < 100)',
      to: '',
    },
    {
      means: 'no heartbeat may be lost',
      from: 'const beatsPerLimit = 3;',
      to: 'const beatsPerLimit = 1;',
    },
    {
      means: 'two texts in turn keep a stage alive for ever',
      from: 'return at - progressAt < limit / 2;',
      to: 'return true;',
    },
    {
      means: 'a clock that is set back silences the heartbeat',
      from: 'silent >= 0 && silent < limit',
      to: 'silent < limit',
    },
    {
      means: 'a lane that has ended holds the others back',
      from: 'lanes.delete(event.lane);',
      to: '',
    },
    {
      means: 'the stage of an earlier run is never reported',
      from: 'unreported = report ?? unreported;',
      to: '',
    },
    {
      means: 'the highest stage of all lanes is shown',
      from: 'status.position < low.position',
      to: 'status.position > low.position',
    },
  ],
  'src/adapters/logging/log-sink.ts': [
    {
      means: 'a secret reaches the log for people',
      from: 'options.mask(renderPretty(line))',
      to: 'renderPretty(line)',
    },
    {
      means: 'a secret reaches the log for programs',
      from: 'out.write(options.mask(text));',
      to: 'out.write(text);',
    },
    {
      means: 'a secret reaches the event stream',
      from: 'mask(JSON.stringify({ v: streamVersion, ...event }))',
      to: 'JSON.stringify({ v: streamVersion, ...event })',
    },
    {
      means: 'the end of a progress is not in the event stream',
      from: 'since < progressEvery && event.progress.percent !== 100',
      to: 'since < progressEvery',
    },
    {
      means: 'a full disk ends the installation',
      from: '      try {\n        writeSync(descriptor, text);\n      } catch {',
      to: '      writeSync(descriptor, text);\n      try {\n      } catch {',
    },
    {
      means: 'a reader that does not read keeps the process from its end',
      from: 'await within(closeLimit, pump);',
      to: 'await pump;',
    },
    {
      means: 'the log is closed when its first reader has all',
      from: 'await Promise.all(writers',
      to: 'await Promise.race(writers',
    },
    {
      means: 'a reader that does not read fills the memory',
      from: 'if (isClosed || size > mostWaiting) return;',
      to: 'if (isClosed) return;',
    },
  ],
  'src/adapters/logging/journald.ts': [
    {
      means: 'a line with a line feed makes fields of its own',
      from: 'text.split(/[\\r\\n]+/)).map',
      to: '[text]).map',
    },
    {
      means: 'an entry is as urgent as its least urgent line',
      from: 'Math.min(...lines.map',
      to: 'Math.max(...lines.map',
    },
    {
      means: 'a message is longer than journalctl shows',
      from: ' && length <= longestMessage',
      to: '',
    },
  ],
};
