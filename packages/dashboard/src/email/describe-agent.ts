/** A program by its user agent, in two words: what reads it knows them, the whole one is beside it. */
const programs = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Firefox', /\bFirefox\/|\bFxiOS\//],
  ['Thunderbird', /\bThunderbird\//],
  ['Outlook', /\bMicrosoft Outlook\b|\bMSOffice\b/],
  ['Gmail image proxy', /\bGoogleImageProxy\b/],
  ['Yahoo image proxy', /\bYahooMailProxy\b/],
  ['Chrome', /\bChrome\/|\bCriOS\//],
  ['Safari', /\bSafari\//],
] as const
const systems = [
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
] as const

/** Empty: it says nothing that is known. */
export function describeAgent(agent: string): string {
  const program = programs.find(([, is]) => is.test(agent))?.[0]
  const system = systems.find(([, is]) => is.test(agent))?.[0]
  return [program, system].filter((one) => one !== undefined).join(', ')
}
