import { describe, expect, it } from 'vitest'
import { decideWebhook, type WebhookBefore, type WebhookChange } from './decide-webhook.ts'

const none = { url: null, hasWebhook: false, hasHeaders: false }
const byUrl = { url: 'https://a.test/', hasWebhook: true, hasHeaders: false }
const byHeaders = { url: null, hasWebhook: true, hasHeaders: true }
const byBoth = { url: 'https://a.test/', hasWebhook: true, hasHeaders: true }
const url = 'https://b.test/'
const headers = { 'X-A': 'a' }

describe('the webhook of a username', () => {
  it.each<[string, WebhookBefore, WebhookChange, string, string | null]>([
    ['stays none', none, {}, 'none', null],
    ['stays none by empty headers and no URL', none, { url: null, headers: {} }, 'none', null],
    ['is made by a URL', none, { url }, 'create', url],
    ['is made by headers', none, { headers }, 'create', null],
    ['keeps its URL', byUrl, {}, 'change', byUrl.url],
    ['gets another URL', byUrl, { url }, 'change', url],
    ['goes with its URL', byUrl, { url: null }, 'delete', null],
    ['stays by headers that come as the URL goes', byUrl, { url: null, headers }, 'change', null],
    ['keeps its headers', byHeaders, {}, 'change', null],
    ['goes with its headers', byHeaders, { headers: {} }, 'delete', null],
    ['stays by a URL that comes as headers go', byHeaders, { url, headers: {} }, 'change', url],
    ['stays by its headers', byBoth, { url: null }, 'change', null],
    ['stays by its URL', byBoth, { headers: {} }, 'change', byBoth.url],
    ['goes with both', byBoth, { url: null, headers: {} }, 'delete', null],
  ])('[3.5] %s', (_what, before, change, step, after) => {
    const hasWebhook = step === 'create' || step === 'change'
    expect(decideWebhook(before, change)).toEqual({ step, url: after, hasWebhook })
  })
})
