import { describe, expect, it } from 'vitest';
import { lintContainerfile } from './lint.ts';

const end = 'RUN ostree container commit\n';

/** The paths that are told, each behind its line and severity. */
const lost = (text: string): readonly string[] =>
  lintContainerfile(`FROM configs AS final\n${text}\n${end}`)
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
    ['RUN cp -t /opt a b', ['2 warning /opt']],
    ['RUN install -d /opt/a /opt/b', ['2 warning /opt/a', '2 warning /opt/b']],
    ['RUN tar -xf x.tar -C /opt', ['2 warning /opt']],
    ['RUN if true; then mkdir /opt/x; fi', ['2 warning /opt/x']],
    ['RUN ["mkdir", "/opt/x"]', ['2 warning /opt/x']],
    ['RUN bash -c "mkdir /opt/x"', ['2 warning /opt/x']],
    ['RUN <<E\nmkdir /opt/x\nE', ['2 warning /opt/x']],
    ['ENV D=/opt\nRUN mkdir -p $D/x', ['3 warning /opt/x']],
  ])('is told of %j', (text, expected) => {
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
  ])('is not told of %j', (text) => {
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
${end}`;
    expect(lintContainerfile(text).map(({ line, rule }) => [line, rule])).toEqual([
      [11, 'lost-path'],
    ]);
  });
});
