import { expect, it } from 'vitest'
import { zoneFile } from './zone-file.ts'

it('writes records with their final dots, quotes and priorities', () => {
  const records = [
    { type: 'TXT', name: '_dmarc.mail.example.com', value: 'v=DMARC1; p="x\\y"' },
    { type: 'CNAME', name: 'b.mail.example.com', value: 'bounces.example.net' },
    { type: 'MX', name: 'in.example.com', value: 'mx.example.net', priority: 5 },
  ]
  expect(zoneFile(records)).toBe(
    '_dmarc.mail.example.com. 3600 IN TXT "v=DMARC1; p=\\"x\\\\y\\""\n' +
      'b.mail.example.com. 3600 IN CNAME bounces.example.net.\n' +
      'in.example.com. 3600 IN MX 5 mx.example.net.\n',
  )
})

it('divides a long text into strings of 255', () => {
  const line = zoneFile([{ type: 'TXT', name: 'k.example.com', value: 'a'.repeat(300) }])
  expect(line).toBe(`k.example.com. 3600 IN TXT "${'a'.repeat(255)}" "${'a'.repeat(45)}"\n`)
})
