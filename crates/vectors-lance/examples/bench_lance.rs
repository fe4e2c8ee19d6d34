//! throwaway
#![allow(warnings)]
use std::time::Instant;
use sillok_core::entry::*; use sillok_core::ports::*; use sillok_core::scope::Scope; use sillok_core::stamp::Stamp; use sillok_core::id::EntryId; use sillok_core::fingerprint::ContentHash; use sillok_core::time::Timestamp;
use sillok_vectors_lance::*;
struct Lcg(u64);
impl Lcg { fn next(&mut self)->u64{ self.0=self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); self.0>>33 }
 fn f(&mut self)->f32{ (self.next() as f32)/(1u64<<31) as f32 - 0.5 } }
const D: usize = 384;
fn vecs(r:&mut Lcg, centers:&[Vec<f32>])->Vec<f32>{ let c=&centers[r.next() as usize % centers.len()]; let mut v:Vec<f32>=c.iter().map(|x| x+0.6*r.f()).collect(); let n=v.iter().map(|x|x*x).sum::<f32>().sqrt(); v.iter_mut().for_each(|x|*x/=n); v }
fn pct(t:&mut Vec<f64>)->String{ t.sort_by(|a,b|a.total_cmp(b)); format!("p50 {:.2} p90 {:.2} p99 {:.2}",t[t.len()/2],t[t.len()*9/10],t[t.len()*99/100]) }
fn env(k:&str,d:usize)->usize{ std::env::var(k).ok().and_then(|v|v.parse().ok()).unwrap_or(d) }
#[tokio::main(flavor="multi_thread", worker_threads=2)]
async fn main(){
 let dir=std::path::PathBuf::from(std::env::var("DIR").unwrap_or("/tmp/bench_lance".into()));
 let n=env("N",100000) as u64;
 let mut c=LanceConfig::new(SpaceId("b".into()),D); c.probes=env("PROBES",c.probes); c.search_candidates=env("EF",c.search_candidates); c.partition_rows=env("PART",c.partition_rows); c.tail_rows_max=env("TAIL",c.tail_rows_max);
 let mut r=Lcg(7); let centers:Vec<Vec<f32>>=(0..300).map(|_|(0..D).map(|_|r.f()).collect()).collect();
 let scopes:Vec<Scope>=(0..10).map(|i|Scope::parse(&format!("org/a/project/p{i}")).unwrap()).collect();
 let stamp=|c:u64|Stamp{generation:1,counter:c,index:0};
 let st=[Status::Hypothesis,Status::Verified,Status::Published,Status::Deprecated,Status::Archived];
 let tables=[Table::Observations,Table::Observations,Table::Observations,Table::Patterns,Table::Gotchas];
 let mut make=|r:&mut Lcg,i:u64,s:u64|{ let words:Vec<String>=(0..30).map(|_|{let a=r.next()%5000; let b=r.next()%5000; format!("w{}",a*b/5000)}).collect(); let text=words.join(" ");
  IndexDoc{scope:scopes[(i%10) as usize].clone(),entry:EntryId::from_bytes((i as u128).to_be_bytes()),version:1,table:tables[(i/10%5) as usize],status:st[(i/50%5) as usize],failure:i%20==0,confidence:0.3+0.7*(i%7) as f64/7.0,content_hash:ContentHash::of(&text),content:text,embedding:Some(Embedding{space:SpaceId("b".into()),values:vecs(r,&centers)}),created_at:Timestamp::from_ms(1),stamp:stamp(s)} };
 let t=Instant::now();
 let index=LanceIndex::open(&dir,c.clone()).unwrap();
 println!("open {:?} {:?}",t.elapsed(),index.stats().await.unwrap());
 if index.stats().await.unwrap().stored < n { let t=Instant::now(); let mut i=0; while i<n { let k=2000.min(n-i); let docs:Vec<_>=(i..i+k).map(|x|make(&mut r,x,x+1)).collect(); index.apply(docs,stamp(i+k)).await.unwrap(); i+=k; } println!("apply all {:?}",t.elapsed()); let t=Instant::now(); index.optimise().await.unwrap(); println!("optimise {:?}",t.elapsed()); }
 else { tokio::time::sleep(std::time::Duration::from_secs(2)).await; }
 let mut q=Lcg(99);
 let mut next=10_000_000u64;
 let mut r2=Lcg(7); for _ in 0..300*D { r2.f(); } let mut all:Vec<IndexDoc>=vec![]; if std::env::var("RECALL").is_ok() { for x in 0..n { let mut d=make(&mut r2,x,x+1); d.content=String::new(); all.push(d);} }
 let cpu=||{ let s=std::fs::read_to_string("/proc/self/stat").unwrap(); let f:Vec<&str>=s.rsplit(')').next().unwrap().split_whitespace().collect(); (f[11].parse::<f64>().unwrap()+f[12].parse::<f64>().unwrap())*10.0 };
 let (dovec,dotext)=(env("VEC",1)==1,env("TEXT",1)==1); let don=env("NB",1)==1;
 let pend=env("PEND",0);
 for (label,nsc,lim) in [("warm",3,20),("3 scopes",3,20),("1 scope",1,20),("10 scopes",10,50)] {
  let mut t=vec![]; let mut tn=vec![]; let mut ta=vec![]; let mut to=vec![]; let (mut hits,mut tot)=(0,0); let mut used=0.0;
  let cs=cpu(); for it in 0..400 {
   if pend>0 && it%20==0 { let docs:Vec<_>=(0..pend as u64).map(|_|{next+=1; make(&mut q,next%n,next)}).collect(); let t0=Instant::now(); index.offer(docs.clone()); to.push(t0.elapsed().as_secs_f64()*1e3/pend as f64); let t0=Instant::now(); index.apply(docs,stamp(next)).await.unwrap(); ta.push(t0.elapsed().as_secs_f64()*1e3); }
   let text:Vec<String>=(0..6).map(|_|format!("w{}",q.next()%5000)).collect();
   let req=SearchRequest{scopes:scopes[..nsc].to_vec(),tables:vec![],statuses:vec![Status::Hypothesis,Status::Verified,Status::Published],failures:false,confidence_min:0.4,text:text.join(" "),embedding:Some(Embedding{space:SpaceId("b".into()),values:vecs(&mut q,&centers)}),limit:lim}; let full=req.clone(); let mut req=req; if !dovec {req.embedding=None;} if !dotext {req.text=String::new();}
   let c0=cpu(); let t0=Instant::now(); let a=index.search(&req).await.unwrap(); let _c=c0; t.push(t0.elapsed().as_secs_f64()*1e3); if dovec {assert_eq!(a.vector.len(),lim);}
   if !all.is_empty() && it<20 { let qv=&full.embedding.as_ref().unwrap().values; let mut e:Vec<(f32,EntryId)>=all.iter().filter(|d| req.scopes.contains(&d.scope)&&req.statuses.contains(&d.status)&&!d.failure&&d.confidence>=0.4).map(|d|(-d.embedding.as_ref().unwrap().values.iter().zip(qv).map(|(a,b)|a*b).sum::<f32>(),d.entry)).collect(); e.sort_by(|a,b|a.0.total_cmp(&b.0)); let top:Vec<EntryId>=e[..10].iter().map(|x|x.1).collect(); hits+=a.vector[..10].iter().filter(|x|top.contains(&x.entry)).count(); tot+=10; }
   let nr=NeighbourRequest{scope:scopes[0].clone(),table:Table::Observations,failure:false,embedding:full.embedding.clone().unwrap(),cosine_min:0.85,limit:5};
   let t0=Instant::now(); if don {index.neighbours(&nr).await.unwrap();} tn.push(t0.elapsed().as_secs_f64()*1e3);
  }
  used=(cpu()-cs)/400.0; println!("recall {hits}/{tot} cpu/iter {used:.2} ms"); println!("{label}: search {} | neighbours {}",pct(&mut t),pct(&mut tn)); if pend>0 { println!("   apply of {pend}: {} | offer each {}",pct(&mut ta),pct(&mut to)); }
 }
 let rss=std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l|l.starts_with("VmRSS")||l.starts_with("VmHWM")).collect::<Vec<_>>().join(" "); println!("{rss} {:?}",index.stats().await.unwrap());
}
