import { expect, it } from 'vitest'
import { queryLengthMax, readQuery } from './read-query.ts'

const id = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'

it.each([
  ['an id of an email', id, 'refId', id],
  ['an id in lower case', id.toLowerCase(), 'refId', id],
  ['a Message-ID', `<${id}.0@example.com>`, 'refId', id],
  ['a Message-ID without brackets', `${id}.12@example.com`, 'refId', id],
  ['an address', ' Ada@Example.com ', 'email', 'Ada@Example.com'],
  ['an address with a name', 'Ada <ada@example.com>', 'email', 'ada@example.com'],
  ['a domain behind an @', '@example.com', 'recipientDomain', 'example.com'],
  ['a domain', 'mail.example.com', 'recipientDomain', 'mail.example.com'],
  ['a domain with an umlaut', 'bücher.example', 'recipientDomain', 'bücher.example'],
  ['words', 'your parcel', 'subject', 'your parcel'],
  ['a number', '4711', 'subject', '4711'],
  ['an amount', '12.50', 'subject', '12.50'],
  ['the beginning of an address', 'ada@', 'subject', 'ada@'],
  ['a name of a file in quotes', '"terms.pdf"', 'subject', 'terms.pdf'],
  ['words with a prefix', 'subject: example.com', 'subject', 'example.com'],
  ['a campaign', 'campaign:november-poetry', 'campaignId', 'november-poetry'],
  ['a domain with a prefix', 'domain:@localhost', 'recipientDomain', 'localhost'],
  ['an unknown prefix', 'Re: your order', 'subject', 'Re: your order'],
])('reads %s', (_, typed, by, value) => {
  expect(readQuery(typed)).toEqual({ by, value })
})

it('reads nothing where nothing was typed', () => {
  expect(readQuery('  ')).toBeUndefined()
})

it('cuts off what the service would refuse', () => {
  expect(readQuery('a'.repeat(2_000))?.value).toHaveLength(queryLengthMax)
})
