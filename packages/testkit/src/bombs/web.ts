/** What reads HTTP: bodies, headers, user agents, links of the tracker, providers' callbacks, tokens. */
import type { Material } from './bomb.ts'

const JSON_UNITS = [
  '{"a":', '[', '[[', '],', '"a",', '"",', '0,', '-', '1e', '1e999,', '0.0,', '\\u0000', '\\ud800', '\\u00e9', '"\\u0041":1,', '"a":1,', ':',
  ',', '{},', '[],', 'null,', 'tru', '"__proto__":{', '\\\\', '\\"', '/**/', '\xef\xbb\xbf', '12345678901234567890,',
] // biome-ignore format: a list
const JSON_PAIRS = [
  ['[', ']'],
  ['{"a":', '}'],
  ['[{"a":', '}]'],
] as const

export const jsonBody: Material = {
  frames: [
    ['', ''],
    ['{"from":{"email":"a@example.com"},"to":[{"email":"', '"}],"subject":"s"}'],
    ['{"from":{"email":"a@example.com"},"to":[', '],"subject":"s"}'],
    ['{"from":{"email":"a@example.com"},"to":[{"email":"b@example.com"}],"subject":"', '"}'],
    ['{"custom_args":{', '}}'],
    ['[', ']'],
  ],
  units: JSON_UNITS,
  pairs: JSON_PAIRS,
}

export const sparkPostCallback: Material = {
  frames: [
    ['[{"msys":{"message_event":{"type":"bounce","raw_reason":"', '"}}}]'],
    ['[{"msys":{"message_event":{"type":"', '"}}}]'],
    ['[{"msys":{', '}}]'],
    ['[', ']'],
    ['[{"msys":{"message_event":{"type":"bounce","timestamp":"', '"}}}]'],
    ['', ''],
  ],
  units: [...JSON_UNITS, '{"msys":{}},', '{"msys":{"a":{}}},', '{"msys":null},', '"b":{"type":"bounce"},', '550 5.1.1 ', 'a@b ', '2001-'],
  pairs: [...JSON_PAIRS, ['{"msys":', '}']],
} // biome-ignore format: a table

export const sendGridCallback: Material = {
  frames: [
    ['[{"event":"bounce","reason":"', '"}]'],
    ['[{"event":"dropped","sg_message_id":"', '"}]'],
    ['[{"event":"', '"}]'],
    ['[{"event":"delivered","sg_event_id":"a",', '"z":0}]'],
    ['[', ']'],
    ['', ''],
  ],
  units: [...JSON_UNITS, '{"event":"bounce"},', '{"event":1},', '.filter', '.a', 'recvd', '.recv', '550 5.1.1 ', '"timestamp":1,'],
  pairs: [...JSON_PAIRS, ['[{"event":', '}]']],
} // biome-ignore format: a table

/** What SparkPost and SendGrid answer to a mail, and about a domain. */
export const relayAnswer: Material = {
  frames: [
    ['', ''],
    ['{"errors":[{"message":"', '","code":"1902"}]}'],
    ['{"errors":[', ']}'],
    ['{"errors":[{"message":"a","field":"', '","help":"a"}]}'],
    ['{"results":{"total_accepted_recipients":1,"id":"', '"}}'],
    ['{"results":{"total_rejected_recipients":1,"rcpt_to_errors":[', ']}}'],
    ['{"results":{"dkim_status":"', '","ownership_verified":true}}'],
    ['{"results":{"dkim_status":"invalid","dns":{"dkim_error":"', '"}}}'],
    ['{"id":1,"valid":false,"validation_results":{', '}}'],
    ['{"id":1,"domain":"a","dns":{"mail_cname":{"host":"', '","data":"a","type":"cname"}}}'],
    ['<html>', '</html>'],
  ],
  units: [...JSON_UNITS, '{"message":"a"},', '"reason":"', '"dkim1":{},', '550 5.1.1 ', 'a@b ', 'already ', '<p>', '&'],
  pairs: [...JSON_PAIRS, ['{"errors":[', ']}']],
} // biome-ignore format: a table

export const tokenAnswer: Material = {
  frames: [
    ['', ''],
    ['{"access_token":"', '","token_type":"Bearer","expires_in":3600}'],
    ['{"error":"', '"}'],
    ['{"error":"invalid_grant","error_description":"', '"}'],
    ['{"access_token":"a","expires_in":"', '"}'],
    ['{"access_token":"a","token_type":"Bearer","scope":"', '"}'],
    ['<html>', '</html>'],
  ],
  units: [...JSON_UNITS, 'AADSTS70043 ', 'AADSTS', 'invalid_grant ', 'e30.', '<p>', ' a', '9'],
  pairs: JSON_PAIRS,
}

export const idToken: Material = {
  frames: [
    ['e30.', '.AA'],
    ['', ''],
    ['{"iss":"https://issuer.example.com","aud":["', '"],"exp":9999999999}'],
    ['{"iss":"', '","aud":"client"}'],
    ['{"iss":"https://issuer.example.com","aud":[', ']}'],
  ],
  units: [...JSON_UNITS, 'e30', 'eyJ', '.', '..', '=', '_', 'http://', 'https://[', '"client",'],
  pairs: JSON_PAIRS,
}

export const userAgent: Material = {
  frames: [
    ['', ''],
    ['Mozilla/5.0 (', ')'],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) ', ' Safari/537.36'],
    ['Mozilla/5.0 (Linux; Android 10; ', ') AppleWebKit/537.36 (KHTML, like Gecko)'],
    ['Outlook-iOS/', ''],
  ],
  units: [
    'Mozilla/', 'Chrome/', 'Chrome/1.', 'Safari/', 'Version/', 'Version/1 ', 'Android ', 'Android 1.', 'CPU OS ', 'iphone ', 'like ', 'bot', 'bo',
    'crawl', 'http', 'http://a', 'Thunderbird/', 'Outlook', 'Outlook-', 'Microsoft ', 'rv:', 'rv:1', 'Opera ', 'MSIE ', 'Trident/', 'Edg/', 'spider',
    ';', ') ', '(', 'KHTML, ', 'SamsungBrowser/', 'a/1.', '1_', 'tv', 'Windows NT ', 'Mac OS X ', '- ', '+',
  ], // biome-ignore format: a list
  pairs: [['(', ')']],
}

export const trackerPath: Material = {
  frames: [
    ['/t/o/', '.gif'],
    ['/t/c/', ''],
    ['/t/u/', ''],
    ['/', ''],
    ['/t/c/AAAA?', ''],
    ['/v1/email/logs?pageToken=', ''],
  ],
  units: [
    '/', '//', '/..', '/.', '%2e', '%2F', '%', '%zz', '%E2%82', '%C3%A9', '%25', '.gif', '?', '&a=', '&', 'a=b&', '=', '+', ';', 'A', '_', '-',
    '*', ':a', '#',
  ], // biome-ignore format: a list
  pairs: [],
}

export const csvFile: Material = {
  frames: [['email,reason,note\n', '\na@example.com,,\n'], ['', '']],
  units: ['"\n', ',"', '"",', '""', '","', '"a\n', 'a"b,', '\n"', '"""\n', '""""\n', 'a@example.com,,"\n', "'='", 'email,'],
  pairs: [['"', '"']],
} // biome-ignore format: a list

export const httpHeader: Material = {
  frames: [['', '']],
  units: [
    '127.0.0.1,', '127.0.0.1, ', '::1,', '[::1]:1,', '[', '::', '1.1.1.1:1,', '00-', 'bearer ', 'Bearer a', 'application/json;', ';charset=utf-8',
    'gzip,', 'identity;q=0,', 'a=b;', '"a",', 'W/"a",', 'prefetch', 'basic ', 'QUJD', 'bytes=0-,', 'Mon, 01 Jan 2001 00:00:00 GMT', 'for=a,',
  ], // biome-ignore format: a list
  pairs: [],
}
