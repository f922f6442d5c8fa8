import { describe, expect, it } from 'vitest';
import { defaultContainerfile } from '../api/os-config.ts';
import { lintContainerfile } from './lint.ts';

const final = 'FROM configs AS final\n';
const commit = 'RUN ostree container commit\n';

describe('lintContainerfile', () => {
  it.each([
    ['the default', defaultContainerfile],
    ['what continues the stage of the operator', `# more\nRUN dnf install -y x\n${commit}`],
    ['a comment alone, which changes nothing', '# nothing yet\n'],
    ['an ARG alone', 'ARG A=x\n'],
    ['an ARG and what continues it', `ARG A=x\nRUN dnf install -y $A && ${commit.slice(4)}`],
    ['an ARG that no FROM uses', `ARG A=x\n${final}${commit}`],
    ['a FROM whose variable has a default', `FROM \${A:-configs} AS final\n${commit}`],
    ['a stage that is built on what continues it', `RUN a\n${final}${commit}`],
    ['a build in a stage of its own', `FROM golang AS b\nRUN cp x /opt/x\n${final}${commit}`],
    ['a stage between', `FROM configs AS mine\nFROM mine AS final\n${commit}`],
    ['a bootc lint at the end', `${final}RUN bootc container lint\n`],
    ['caches that are left', `${final}RUN touch /var/cache/x && ostree container commit\n`],
    ['continuation lines and comments', `${final}RUN a && \\\n# why\n\tostree container commit\n`],
    [
      'a comment that is a directive elsewhere',
      `# escape=\`\n${final}RUN a && \\\n  ${commit.slice(4)}`,
    ],
    ['a here-document', `${final}RUN <<EOF\nWHATEVER\nostree container commit\nEOF\n`],
    ['a here-string', `${final}RUN cat <<<"x" && ostree container commit\n`],
    ['labels after the commit', `${final}${commit}LABEL a=b\n`],
    ['a copy from a lost folder', `${final}COPY --from=b /opt/x /usr/bin/x\n${commit}`],
    [
      'a package with the name of a program',
      `${final}RUN rpm-ostree install grubby && ${commit.slice(4)}`,
    ],
    ['cp from a lost folder', `${final}RUN cp /opt/x /usr/x && ostree container commit\n`],
  ])('finds nothing wrong with %s', (_, content) => {
    expect(lintContainerfile(content)).toEqual([]);
  });

  it.each([
    ['', [[1, 'final-stage', 'error']]],
    [`${final}RUNN x\n${commit}`, [[2, 'syntax', 'error']]],
    ['RUN dnf install -y x\n', [[1, 'final-commit', 'warning']]],
    [
      `# escape=\`\n${final}RUN a && \`\n b && ${commit.slice(4)}`,
      [
        [3, 'final-commit', 'warning'],
        [4, 'syntax', 'error'],
      ],
    ],
    [`COPY a /opt/x\n${commit}`, [[1, 'lost-path', 'error']]],
    [`WORKDIR /usr/local\n${final}COPY a b\n${commit}`, [[3, 'lost-path', 'error']]],
    [`RUN x\nFROM ubi9 AS final\n${commit}`, [[2, 'final-stage', 'error']]],
    [`RUNN x\n${commit}`, [[1, 'syntax', 'error']]],
    // Builders of the operator's file find no image: its own first FROM comes before each ARG of this text.
    [`ARG A=ubi9\nFROM \${A} AS b\n${final}${commit}`, [[2, 'syntax', 'error']]],
    [`ARG A=configs\nFROM $A AS final\n${commit}`, [[2, 'syntax', 'error']]],
    [`FROM ubi9:$V AS b\n${final}${commit}`, [[1, 'syntax', 'error']]],
    [`${final}ARG A=configs\nFROM "$A" AS b\n${final}${commit}`, [[3, 'syntax', 'error']]],
    [`ENV A=/opt\n${final}COPY a $A/x\n${commit}`, [[3, 'lost-path', 'error']]],
    [`ARG A=/opt\n${final}COPY a $A/x\n${commit}`, [[3, 'lost-path', 'error']]],
    [`ARG A=ubi9\nFROM \${A:-golang} AS final\n${commit}`, [[2, 'final-stage', 'error']]],
    [`FROM ubi9 AS final\n${commit}`, [[1, 'final-stage', 'error']]],
    [`FROM configs\n${commit}`, [[1, 'final-stage', 'warning']]],
    [`FROM configs AS other\n${commit}`, [[1, 'final-stage', 'warning']]],
    [`${final}RUN rpm-ostree install x\n`, [[2, 'final-commit', 'warning']]],
    [`${final}${commit}COPY a /usr/bin/a\n`, [[3, 'final-commit', 'warning']]],
    [
      `${final}RUN mkdir -p /srv/x; echo >/root/y && ostree container commit\n`,
      [
        [2, 'lost-path', 'warning'],
        [2, 'lost-path', 'warning'],
      ],
    ],
    [`${final}WORKDIR /usr/local\nADD x bin/\n${commit}`, [[3, 'lost-path', 'error']]],
    [`${final}COPY ["a b", "/home/0"]\n${commit}`, [[2, 'lost-path', 'error']]],
    [
      `${final}RUN <<E\ntouch /var/lib/x\nostree container commit\nE\n`,
      [[2, 'lost-path', 'warning']],
    ],
    [
      `${final}COPY a.toml /usr/lib/bootc/kargs.d/\n${commit}`,
      [[2, 'kernel-arguments', 'warning']],
    ],
    [
      `${final}RUN grubby --args=a --update-kernel=ALL && ostree container commit\n`,
      [[2, 'kernel-arguments', 'warning']],
    ],
    [
      `${final}RUN rpm-ostree kargs --append=a && ostree container commit\n`,
      [[2, 'kernel-arguments', 'warning']],
    ],
  ])('finds in %j', (content, expected) => {
    const found = lintContainerfile(content);
    expect(found.map(({ line, rule, severity }) => [line, rule, severity])).toEqual(expected);
  });

  it('says what to write instead', () => {
    const [finding] = lintContainerfile(`${final}RUNN x\n${commit}`);
    expect(finding?.message).toBe('RUNN is not an instruction of a Containerfile: write RUN');
  });

  it('says where an ARG of a FROM belongs', () => {
    const [finding] = lintContainerfile(`ARG A=x\nFROM $A AS b\n${final}${commit}`);
    expect(finding?.message).toMatch(
      /^FROM \$A has no value for A, as the ARG in line 1 belongs to /,
    );
  });

  it('shows the line that it did not read as a shell would', () => {
    const text = `${final}RUN mkdir /opt/x && grubby --args=a && ostree container commit\n`;
    const line = '(RUN mkdir /opt/x && grubby --args=a && ostree container commit)';
    const messages = lintContainerfile(text).map(({ message }) => message);
    expect(messages).toEqual([expect.stringContaining(line), expect.stringContaining(line)]);
  });

  it('refuses a text that is far longer than a MachineOSConfig takes', () => {
    const [finding] = lintContainerfile(`${final}#${'x'.repeat(65_536)}\n`);
    expect(finding).toMatchObject({ rule: 'syntax', severity: 'error', line: 1 });
  });

  it.each([
    'FROM b AS b\n',
    'ENV A=$A$A\n',
    'RUN <<E\n',
    'RUN <<E\nE\n',
    '<<E ',
    '${a:-',
    '"$a',
    '\\\n',
    '["x", ',
    '> ',
    'mkdir /opt/x ',
    '# x=y\n',
  ])('comes to an end with a long text of %j', (chunk) => {
    const times = Math.floor(65_000 / chunk.length);
    for (const begin of ['', `${final}ENV A=x\n`, `${final}RUN `, `${final}COPY a `]) {
      const before = process.threadCpuUsage();
      lintContainerfile(`${begin}${chunk.repeat(times)}`);
      // Of the processor, in microseconds: how long a busy machine takes says nothing.
      expect(process.threadCpuUsage(before).user).toBeLessThan(5_000_000);
    }
  });
});

const rulesOf = (text: string): readonly string[] =>
  lintContainerfile(`${final}${text}\n`).map(({ rule }) => rule);

describe('a check of the image', () => {
  it.each([
    'RUN ostree container commit',
    'run /usr/bin/ostree container commit',
    'RUN bootc container lint --fatal-warnings',
    'RUN ostree container commit # done',
    'RUN a && \\\n  # why\n  b && \\\n  ostree container commit',
    'RUN a; b; ostree container commit',
    'RUN (a; b) && bootc container lint',
    'RUN bootc container lint && ostree container commit && echo done',
    'RUN set -eux; ostree container commit; echo done',
    'RUN ostree container commit || exit 1',
    'RUN ostree container commit || { echo no; exit 1; }',
    'RUN a || { echo no; exit 1; }; ostree container commit',
    'RUN if command -v bootc; then bootc container lint; else ostree container commit; fi',
    'RUN bootc container lint || ostree container commit',
    'RUN set -o pipefail; ostree container commit | tee /usr/share/log',
    'RUN ["ostree", "container", "commit"]',
    'RUN bash -c "a && ostree container commit"',
    "RUN ostree container commit && sh -c 'echo done'",
    "RUN sh -ec 'ostree container commit; echo done'",
    'RUN --mount=type=cache,target=/x a && ostree container commit',
    'RUN echo $((1<<A)) && ostree container commit',
    'RUN <<E\na\nostree container commit\nE',
    'RUN <<-E\n\tostree container commit\n\tE',
    'RUN <<E\n#!/bin/bash -e\nostree container commit\necho done\nE',
    'RUN bash -euo pipefail <<E\na\nostree container commit\nE',
    "RUN cat <<'E' > /usr/lib/x && ostree container commit\nwhatever\nE",
    'RUN <<A cat > /usr/x && <<B cat > /usr/y && ostree container commit\n1\nA\n2\nB',
    'RUN <<E\ncat <<F > /usr/x\nE is not it\nF\nostree container commit\nE',
    'RUN ostree container commit\nLABEL a=b\nWORKDIR /usr',
  ])('comes last in %j', (text) => {
    expect(rulesOf(text)).toEqual([]);
  });

  it.each([
    'RUN touch /usr/x',
    'RUN ostree container commit\nRUN rm /usr/x',
    'RUN ostree container commits',
    'COPY <<E /usr/x\nostree container commit\nE',
  ])('is missing in %j', (text) => {
    expect(rulesOf(text)).toEqual(['final-commit']);
  });

  it.each([
    'RUN bootc container lint || true',
    'RUN ostree container commit && rm -rf /x',
    'RUN echo "ostree container commit"',
    'RUN touch /usr/x # ostree container commit',
  ])('is taken to be in %j, as nothing here understands a shell', (text) => {
    expect(rulesOf(text)).toEqual([]);
  });
});

/** The paths that are reported, each behind its line and severity. */
const lost = (text: string): readonly string[] =>
  lintContainerfile(`${final}${text}\n${commit}`)
    .filter(({ rule }) => rule === 'lost-path')
    .map(({ line, severity, message }) => `${line} ${severity} ${message.split(' ')[0] ?? ''}`);

describe('what is put where it is lost', () => {
  it.each([
    ['COPY --from=b ["a", "/opt/x"]', ['2 error /opt/x']],
    ['COPY --chown=1:1 --from=b a /opt/x', ['2 error /opt/x']],
    ['COPY ["a b", "/home/0"]', ['2 error /home/0']],
    ['COPY a "/opt/x"', ['2 error /opt/x']],
    ["COPY a '/opt/x'", ['2 error /opt/x']],
    ['COPY a //opt/x', ['2 error /opt/x']],
    ['COPY a /usr/../opt/x', ['2 error /opt/x']],
    ['COPY a /opt/./', ['2 error /opt']],
    ['COPY a /o\\\npt/x', ['2 error /opt/x']],
    ['COPY <<E /opt/x\ntext\nE', ['2 error /opt/x']],
    ['ENV D=/opt\nCOPY a $D/x', ['3 error /opt/x']],
    ['ENV D=/opt\nCOPY a ${D}/x', ['3 error /opt/x']],
    ['ENV D /opt\nCOPY a "$D/x"', ['3 error /opt/x']],
    ['ENV A=/opt B="$A/x"\nENV C=$B\nCOPY a $A/y', ['4 error /opt/y']],
    ['ENV A=/opt\nENV B=$A/x\nCOPY ["a", "$B/y"]', ['4 error /opt/x/y']],
    ['ARG D=/opt\nCOPY a $D/x', ['3 error /opt/x']],
    ['ENV D=/opt\nARG D=/usr\nCOPY a $D/x', ['4 error /opt/x']],
    ['COPY a ${D:-/opt}/x', ['2 error /opt/x']],
    ['ENV D=1\nCOPY a ${D:+/opt}/x', ['3 error /opt/x']],
    ['COPY a /opt/$D', ['2 error /opt/$D']],
    ['WORKDIR /opt/app', ['2 warning /opt/app']],
    ['WORKDIR /opt\nWORKDIR app', ['3 warning /opt/app']],
    ['WORKDIR "/opt/app"\nCOPY a b', ['2 warning /opt/app', '3 error /opt/app/b']],
    ['WORKDIR /opt\nCOPY a .', ['3 error /opt']],
    ['WORKDIR /usr/share\nCOPY a ../local/x', ['3 error /usr/local/x']],
    ['VOLUME /opt/x /usr/x', ['2 warning /opt/x']],
    ['VOLUME ["/opt/x"]', ['2 warning /opt/x']],
    ['RUN mkdir "/opt/x"', ['2 warning /opt/x']],
    ['RUN touch /usr/../opt/x', ['2 warning /opt/x']],
    ['RUN echo >/opt/x', ['2 warning /opt/x']],
    ['RUN if true; then mkdir /opt/x; fi', ['2 warning /opt/x']],
    ['RUN ["mkdir", "/opt/x"]', ['2 warning /opt/x']],
    ['RUN <<E\nmkdir /opt/x\nE', ['2 warning /opt/x']],
  ])('is found in %j', (text, expected) => {
    expect(lost(text)).toEqual(expected);
  });

  it.each([
    'COPY a /usr/opt/x',
    'COPY --from=b /opt/x /usr/bin/',
    'COPY --from=b /opt/x $UNKNOWN/x',
    "ENV D=/opt\nCOPY a '/usr/$D'",
    'ENV D=/opt\nENV D=/usr\nCOPY a $D/x',
    'ENV D=/opt\nCOPY a \\$D/x',
    'WORKDIR $UNKNOWN\nCOPY a opt/x',
    'WORKDIR /opt\nWORKDIR /usr/share\nCOPY a b',
    'WORKDIR /root',
    'WORKDIR /var/tmp/x',
    'RUN touch /usr/x # and mkdir /opt/x',
    'RUN echo "mkdir /opt/x"',
    'RUN cp /opt/x ./y',
    'RUN ln -s /opt/x /usr/bin/x',
    'RUN rm -rf /opt/x',
    'RUN sed -i s#/opt#/usr# /usr/x',
    'RUN echo > /dev/null 2>&1',
    'RUN cat <<E > /usr/x\nmkdir /opt/x\nE',
  ])('is not found in %j', (text) => {
    expect(lost(text)).toEqual([]);
  });

  it('goes by the stage that a stage is built on', () => {
    const text = `ARG D=/opt
FROM configs AS mine
ARG D
ENV E=/srv
WORKDIR /usr/share
FROM golang AS other
WORKDIR /opt/x
COPY a b
FROM mine AS final
COPY a b
COPY a $E/x
${commit}`;
    expect(lintContainerfile(text).map(({ line, rule }) => [line, rule])).toEqual([
      [11, 'lost-path'],
    ]);
  });
});

describe('what a builder refuses', () => {
  it.each([
    [`FROM configs AS final extra\n${commit}`, 1, 'FROM configs AS final extra is not understood'],
    [`FROM configs AS\n${commit}`, 1, 'FROM configs AS is not understood'],
    [`FROM configs final\n${commit}`, 1, 'FROM configs final is not understood'],
    [`FROM\n${commit}`, 1, 'FROM names no image: write FROM IMAGE, or FROM IMAGE AS NAME'],
    [`FROM --platform=linux/amd64\n${commit}`, 1, 'FROM names no image'],
    [`${final}COPY x\n${commit}`, 2, 'COPY needs a source and a destination: write COPY SOURCE'],
    [`${final}COPY --from=b x\n${commit}`, 2, 'COPY needs'],
    [`${final}ADD ["x"]\n${commit}`, 2, 'ADD needs'],
    [`${final}COPY\n${commit}`, 2, 'COPY needs'],
    [`${final}RUN\n${commit}`, 2, 'RUN has no arguments'],
    [`${final}RUN --mount=type=cache,target=/x\n${commit}`, 2, 'RUN has no arguments'],
    [`${final}ENV\n${commit}`, 2, 'ENV has no arguments'],
    [
      `${final}RUN <<E\n${commit}`,
      2,
      'the here-document of this RUN has no end: write E on a line',
    ],
    [`${final}COPY <<-"E" /usr/x\n E\n${commit}`, 2, 'the here-document of this COPY has no end'],
    [`${final}RUNN x\n${commit}`, 2, 'RUNN is not an instruction of a Containerfile: write RUN'],
    [
      `${final}XYZZY x\n${commit}`,
      2,
      'XYZZY is not an instruction of a Containerfile: see Containerf',
    ],
  ])('is found in %j and nothing beside it', (text, line, message) => {
    const found = lintContainerfile(text);
    expect(found).toMatchObject([{ rule: 'syntax', severity: 'error', line }]);
    expect(found[0]?.message.slice(0, message.length)).toBe(message);
  });

  it.each([
    'FROM --platform=linux/amd64 configs as final\n',
    `${final}CMD []\n`,
    `${final}COPY a b c/\n`,
    `${final}RUN cat <<< word\n`,
    `${final}RUN cat<<word\n`,
    `${final}RUN --mount=type=cache,target=/x make\n`,
  ])('is not found in %j', (text) => {
    const rules = lintContainerfile(`${text}${commit}`).map(({ rule }) => rule);
    expect(rules).toEqual([]);
  });

  it.each([
    'RUN echo "a <<word"',
    "RUN <<'end of it'\nostree container commit\nend of it",
    'RUN cat 3<<E\nx\nE',
  ])('checks nothing below %j, whose end it cannot know', (text) => {
    const found = lintContainerfile(`${final}${text}\nRUNN x\n`);
    expect(found).toMatchObject([{ rule: 'syntax', severity: 'warning', line: 2 }]);
    expect(found[0]?.message).toMatch(/is not clear: nothing below this line was checked$/);
  });
});
