import { expect, it } from 'vitest'
import { changedWebhook, readFolders } from './mailbox-settings.ts'

const url = 'https://hooks.example.com/mail'
const stored = {
  webhook_id: 'wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  webhook_url: url,
  method: 'POST' as const,
  headers_present: ['X-Secret'],
}

it('reads a folder from each line, in their order, without empty ones', () => {
  expect(readFolders(' INBOX \n\nWork/Orders, old\r\n')).toEqual(['INBOX', 'Work/Orders, old'])
})

it('changes nothing of a webhook that is as it was', () => {
  expect(changedWebhook(stored, ` ${url} `, {})).toBeUndefined()
  expect(changedWebhook(null, '  ', {})).toBeUndefined()
})

it('deletes a webhook whose address is taken away', () => {
  expect(changedWebhook(stored, '', {})).toBeNull()
})

it('sends headers only where some are typed, as they replace the stored ones', () => {
  expect(changedWebhook(undefined, url, {})).toEqual({ webhook_url: url })
  expect(changedWebhook(stored, url, { 'X-Secret': 'new' })).toEqual({
    webhook_url: url,
    headers: { 'X-Secret': 'new' },
  })
})
