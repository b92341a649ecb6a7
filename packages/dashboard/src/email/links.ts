/** Links of a mail, and whether what they show fits where they lead. */
export interface MailLink {
  readonly href: string
  /** What is shown for it. */
  readonly text: string
  /** The text names another host than the link leads to. */
  readonly lies: boolean
}

const linksMax = 1_000
const SHOWN_HOST = /^(?:https?:\/\/)?((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})(?:[/?#:]\S*)?$/iu

/** The document runs and loads nothing: it is never shown. */
export function findLinks(html: string): MailLink[] {
  const page = new DOMParser().parseFromString(html, 'text/html')
  return [...page.querySelectorAll('a[href], area[href]')].slice(0, linksMax).map((element) => {
    const image = element.querySelector('img')?.getAttribute('alt') ?? ''
    const text = (element.textContent ?? '').trim().replaceAll(/\s+/g, ' ')
    return linkOf(element.getAttribute('href') ?? '', text === '' ? image : text)
  })
}

export function linkOf(href: string, text: string): MailLink {
  const shown = SHOWN_HOST.exec(text.trim())?.[1]?.toLowerCase()
  const host = hostOf(href)
  const lies = shown !== undefined && host !== undefined && bare(shown) !== bare(host)
  return { href, text, lies }
}

function hostOf(href: string): string | undefined {
  const isWeb = /^https?:/i.test(href)
  return isWeb && URL.canParse(href) ? new URL(href).hostname : undefined
}

function bare(host: string): string {
  return host.replace(/^www\./, '')
}
