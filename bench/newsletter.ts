/** HTML as newsletters have it: tables, styles in every tag, about a link for each kilobyte and a half. */

const head = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>News of the week</title>
<style>@media (max-width:600px){.col{width:100%!important;display:block!important}}</style>
<!--[if mso]><style>td{font-family:Arial,sans-serif!important}</style><![endif]--></head>
<body style="margin:0;padding:0;background-color:#f4f4f4"><table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">
`
const foot = `<tr><td style="font-size:12px;color:#888888">You get this because you asked for it. <a href="%unsubscribe_url%" style="color:#888888">Unsubscribe</a></td></tr>
</table></body></html>
`
const words =
  'light wool for cold evenings, made to last and easy to mend, in colours that go with what you have'

const product = (n: number) => {
  const url = `https://shop.example.com/products/${n}?utm_source=newsletter&amp;utm_medium=email&amp;utm_campaign=week-47&amp;item=${n}`
  return `<tr><td class="col" width="50%" valign="top" style="padding:16px 24px;font-family:Helvetica,Arial,sans-serif;font-size:16px;line-height:24px;color:#333333">
<a href="${url}" target="_blank" style="text-decoration:none;color:#0a58ca"><img src="https://cdn.example.com/images/${n}/600x400.jpg" width="300" height="200" alt="Item ${n}" style="display:block;border:0;max-width:100%"></a>
<h2 style="margin:16px 0 8px;font-size:20px;line-height:28px;color:#111111">Item ${n}</h2>
<p style="margin:0 0 16px">${words.repeat(4)} &ndash; &euro;&nbsp;${n}.90</p>
<!--[if mso]><v:roundrect xmlns:v="urn:schemas-microsoft-com:vml" href="${url}" style="height:40px;width:160px" fillcolor="#0a58ca"><center>Have a look</center></v:roundrect><![endif]-->
<!--[if !mso]><!--><table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td bgcolor="#0a58ca" style="border-radius:4px;padding:10px 24px"><a href="https://shop.example.com/cart/add/${n}?utm_source=newsletter" style="color:#ffffff;text-decoration:none;font-weight:bold">Have a look</a></td></tr></table><!--<![endif]--></td></tr>
`
}

/** Of at least so many characters, all of them ASCII, and the same each time. */
export function newsletterOf(characters: number): string {
  let html = head
  for (let n = 1; html.length + foot.length < characters; n++) html += product(n)
  return html + foot
}
