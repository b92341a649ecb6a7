import { expect, it } from 'vitest'
import { changedWebhook, readFolders } from './mailbox-settings.ts'

const url = 'https://hooks.example.com/mail'
const stored = {
  webhook_id: 'wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  webhook_url: url,
  method: 'POST' as const,
  headers_present: ['X-Secret'],
}
const draft = { url, headers: {}, isSigned: false }

it('reads a folder from each line, in their order, without empty ones', () => {
  expect(readFolders(' INBOX \n\nWork/Orders, old\r\n')).toEqual(['INBOX', 'Work/Orders, old'])
})

it('changes nothing of a webhook that is as it was', () => {
  expect(changedWebhook(stored, { ...draft, url: ` ${url} ` })).toBeUndefined()
  expect(changedWebhook(null, { ...draft, url: '  ', isSigned: true })).toBeUndefined()
  expect(changedWebhook({ ...stored, signing: true }, { ...draft, isSigned: true })).toBeUndefined()
})

it('deletes a webhook whose address is taken away', () => {
  expect(changedWebhook(stored, { ...draft, url: '' })).toBeNull()
})

it('sends headers only where some are typed, as they replace the stored ones', () => {
  expect(changedWebhook(undefined, draft)).toEqual({ webhook_url: url })
  const headers = { 'X-Secret': 'new' }
  expect(changedWebhook(stored, { ...draft, headers })).toEqual({ webhook_url: url, headers })
})

it('says that requests are signed only where that changes', () => {
  const signed = { ...draft, isSigned: true }
  expect(changedWebhook(undefined, signed)).toEqual({ webhook_url: url, signing: true })
  expect(changedWebhook(stored, signed)).toEqual({ webhook_url: url, signing: true })
  expect(changedWebhook({ ...stored, signing: true }, draft)).toEqual({
    webhook_url: url,
    signing: false,
  })
})
