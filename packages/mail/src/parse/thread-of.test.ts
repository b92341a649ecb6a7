import { expect, it } from 'vitest'
import { threadIdOf } from './thread-of.ts'

const answer = {
  references: ['<1@a.test>', '<2@a.test>'],
  inReplyTo: '<2@a.test>',
  messageId: '<3@a.test>',
}

it.each([
  ['the server’s own name of it', answer, '1725', '1725'],
  ['the first that is referred to', answer, undefined, '1@a.test'],
  ['what is answered', { ...answer, references: [] }, undefined, '2@a.test'],
  ['the message itself', { ...answer, references: [], inReplyTo: '' }, undefined, '3@a.test'],
  ['nothing', { references: [], inReplyTo: '', messageId: '' }, '', ''],
])('[contract 4] a thread is named by %s', (_, message, serverThread, id) => {
  expect(threadIdOf(message, serverThread)).toBe(id)
})
