/**
 * Inputs on which a parser failed once: each took too long, or grew faster than its length. What the
 * soak run finds is added here.
 */
import type { Bomb } from '@postrider/testkit'

export interface Found extends Pick<Bomb, 'make'> {
  /** Of the parser. */
  readonly parser: string
  readonly name: string
}

export const found: readonly Found[] = [
  ...['a:', 'a@b,', ',', 'a:;', '"'].map((unit) => ({
    parser: 'the header fields of a submitted message, read in place',
    name: `a list of recipients of ${unit} alone`,
    make: (bytes: number) => unit.repeat(bytes / unit.length),
  })),
  {
    parser: 'a callback of SparkPost',
    name: 'a report of a million empty objects',
    make: (bytes) => `[{"a":[${'{},'.repeat(bytes / 3)}{}]}]`,
  },
  {
    parser: 'a callback of SendGrid',
    name: 'a report of a million empty objects',
    make: (bytes) => `[{"a":[${'{},'.repeat(bytes / 3)}{}]}]`,
  },
  {
    parser: 'a callback of SendGrid',
    name: 'a report with a million numbers too long for a double',
    make: (bytes) => `[{"event":"bounce","a":[${'12345678901234567890,'.repeat(bytes / 21)}0]}]`,
  },
  {
    parser: 'a received message',
    name: 'a bounce whose recipient is followed by nothing but blank lines',
    make: (bytes) =>
      `From: MAILER-DAEMON@example.com\r\nSubject: Mail delivery failed\r\n\r\ncould not be delivered\n<a@example.com>:${' x'.repeat(1_900)}${'\n'.repeat(bytes)}`,
  },
  ...['>\n', '\n', '\r', 'message-id: <'].map((line) => ({
    parser: 'a received message',
    name: `a bounce of ${JSON.stringify(line)} alone`,
    make: (bytes: number) =>
      `From: MAILER-DAEMON@example.com\r\nSubject: Mail delivery failed\r\n\r\ncould not be delivered\n${line.repeat(bytes / line.length)}`,
  })),
]
