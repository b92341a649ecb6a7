/** What reads signatures, policies and results of authentication (RFC 6376, 7208, 7489, 8617). */
import type { Material } from './bomb.ts'

const END = '\r\nFrom: a@example.com\r\nMessage-ID: <1@example.com>\r\n\r\nbody\r\n'
const SIGNATURE = 'DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; h=from; bh=AAAA; b='

export const authenticationHeader: Material = {
  frames: [
    [SIGNATURE, END],
    ['DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s; bh=AAAA; b=AAAA; h=', END],
    ['DKIM-Signature: v=1; ', `; b=AAAA${END}`],
    ['ARC-Seal: i=1; a=rsa-sha256; cv=none; d=example.com; s=s; q=', `; b=AAAA${END}`],
    ['ARC-Authentication-Results: i=1; mx.example.com; ', END],
    ['ARC-Message-Signature: i=', `; a=rsa-sha256; d=example.com; s=s; b=AAAA${END}`],
    ['From: ', '\r\nMessage-ID: <1@example.com>\r\n\r\nbody\r\n'],
  ],
  units: [
    'b=', 'v=1;', 'from:', 'h=from;', 'i=1;', ' ;', '= ', 'a=b;', '\r\n\t', 'AAAA', 'l=0;', 'x@', 'dkim=pass ', '(a', 'd=example.com;',
    `\r\n${SIGNATURE}`, '\r\nARC-Seal: i=1; cv=none; b=', '\r\nARC-Message-Signature: i=1; b=', 'a:', 'a@example.com,',
  ], // biome-ignore format: a list
  pairs: [['(', ')']],
}

export const dnsText: Material = {
  frames: [
    ['v=spf1 ', ' -all'],
    ['v=DMARC1; p=none; ', ''],
    ['v=DKIM1; k=rsa; p=', ''],
    ['', ''],
    ['"', '"'],
  ],
  units: [
    'include:a.example.com ', 'a ', 'mx ', '+a ', 'ip4:127.0.0.1 ', 'ip4:', 'ip6:::', 'exists:%{i}.a ', '%{', '%{l1r-}', 'redirect=', 'p=',
    'p=none;', 'v=spf1 ', 'v=DMARC1;', 'rua=mailto:a@b,', 'sp=', 'k=', 'h=sha256:', ' ;', '= ', '""', '?all ', 'all', '/128',
  ], // biome-ignore format: a list
  pairs: [['%{', '}']],
}
