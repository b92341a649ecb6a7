/** What reads SMTP: replies of a tenant's server, and commands of a client of our listener. */
import type { Material } from './bomb.ts'

const WORDS = [
  'mailbox ', 'user ', 'unknown ', 'message ', 'sender ', 'domain ', 'too many ', 'limit ', 'connections ', 'rate ', 'exceeded ', 'auth ', 'required ', 'not ',
  'quota ', 'full ', 'spam ', 'relay ', 'denied ', 'ip ', 'blocked ', 'try again ', 'in 5 ', 'minutes ', 'host ', 'address ', 'recipient ', 'policy ', 'accept ',
  'mail from ', 'content ', 'attachment ', 'your ', 'account ', 'tls ', 'size ', 'max ', 'loop ', 'is ', 'was ', 'has been ', 'outside ', 'organization ',
] // biome-ignore format: a list

export const smtpReply: Material = {
  frames: [
    ['550 ', ''],
    ['550 5.1.1 ', ''],
    ['421 4.7.0 ', ''],
    ['535 ', ''],
    ['451 4.7.1 <a@example.com>: ', ''],
    ['250 ', ''],
  ],
  units: [
    ...WORDS, '5.1.', '5.1.1', '5.1.1 ', '4.', '550 ', '550-', 'http://a', 'https://', 'https://spamhaus', 'a@b ', 'a@', '<a@b>', '@', '[', 'x', 'auth_', "'",
    '#5.1.1', 'SIZE 1', 'AUTH ', 'AUTH=', 'a=',
  ],
  pairs: [],
} // biome-ignore format: a list

/** What a client says to the listener; a door adds the line end. */
export const smtpCommand: Material = {
  frames: [
    ['', ''],
    ['EHLO ', ''],
    ['MAIL FROM:<', '>'],
    ['MAIL FROM:<a@example.com> ', ''],
    ['RCPT TO:<', '>'],
    ['RCPT TO:<a@example.com> ', ''],
    ['AUTH PLAIN ', ''],
    ['XCLIENT ', ''],
  ],
  units: [
    'HELO ', 'MAIL ', 'FROM:', 'TO:', 'a@', '<a', '<a@b>', '@a,', '@a:', '"a', '\\"', 'SIZE=', 'SIZE=9', ' BODY=8BITMIME', '=', ' a=b', '+2B', '+', 'xn--', '[IPv6:', '[1.',
    'NOOP', 'RSET', 'VRFY ', 'xtext', 'AAAA', ' SMTPUTF8', 'GET / HTTP/1.1',
  ],
  pairs: [],
} // biome-ignore format: a list
