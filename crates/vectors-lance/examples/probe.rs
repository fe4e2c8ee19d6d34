//! throwaway
#![allow(warnings)]
use std::sync::Arc;
use std::time::Instant;
use arrow_array::*;
use arrow_array::builder::*;
use arrow_schema::*;
use lance::dataset::*;
use lance::dataset::scanner::{RowAddrMask, RowAddrTreeMap};
use lance::index::DatasetIndexExt;
use lance::index::vector::VectorIndexParams;
use lance::session::Session;
use lance_index::{IndexType, scalar::{InvertedIndexParams, FullTextSearchQuery, ScalarIndexParams}};
use lance_index::vector::{ivf::IvfBuildParams, hnsw::builder::HnswBuildParams, sq::builder::SQBuildParams};
use lance_linalg::distance::MetricType;

struct Lcg(u64);
impl Lcg { fn next(&mut self)->u64{ self.0=self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407); self.0>>33 }
 fn f(&mut self)->f32{ (self.next() as f32)/(1u64<<31) as f32 - 0.5 } }
const D: usize = 384;
fn vecs(r:&mut Lcg, centers:&[Vec<f32>])->Vec<f32>{ let c=&centers[r.next() as usize % centers.len()]; let mut v:Vec<f32>=c.iter().map(|x| x+0.6*r.f()).collect(); let n=v.iter().map(|x|x*x).sum::<f32>().sqrt(); v.iter_mut().for_each(|x|*x/=n); v }
fn batch(r:&mut Lcg, centers:&[Vec<f32>], from:usize, n:usize)->RecordBatch{
  let mut key=StringBuilder::new(); let mut scope=StringBuilder::new(); let mut status=UInt8Builder::new(); let mut content=StringBuilder::new(); let mut v=Vec::with_capacity(n*D);
  for i in from..from+n { key.append_value(format!("k{i:08}")); scope.append_value(format!("org/a/project/p{}", i%10)); status.append_value((i%5) as u8);
   let words:Vec<String>=(0..30).map(|_|{let a=r.next()%5000; let b=r.next()%5000; format!("w{}",a*b/5000)}).collect(); content.append_value(words.join(" ")); v.extend(vecs(r,centers)); }
  let item=Arc::new(Field::new("item",DataType::Float32,true));
  let schema=Arc::new(Schema::new(vec![Field::new("key",DataType::Utf8,false),Field::new("scope",DataType::Utf8,false),Field::new("status",DataType::UInt8,false),Field::new("content",DataType::Utf8,false),Field::new("vector",DataType::FixedSizeList(item.clone(),D as i32),true)]));
  RecordBatch::try_new(schema,vec![Arc::new(key.finish()),Arc::new(scope.finish()),Arc::new(status.finish()),Arc::new(content.finish()),Arc::new(FixedSizeListArray::new(item,D as i32,Arc::new(Float32Array::from(v)),None))]).unwrap()
}
fn pct(mut t:Vec<f64>)->String{ t.sort_by(|a,b|a.total_cmp(b)); format!("p50 {:.2} p90 {:.2} p99 {:.2}",t[t.len()/2],t[t.len()*9/10],t[t.len()*99/100]) }
#[tokio::main(flavor="multi_thread", worker_threads=2)]
async fn main(){
 let dir=std::env::temp_dir().join("probe.lance"); let _=std::fs::remove_dir_all(&dir); let uri=dir.to_str().unwrap().to_string();
 let n:usize=std::env::args().nth(1).unwrap().parse().unwrap();
 let session=Arc::new(Session::new(256<<20,64<<20,Default::default()));
 let mut r=Lcg(7); let centers:Vec<Vec<f32>>=(0..300).map(|_|(0..D).map(|_|r.f()).collect()).collect();
 let t=Instant::now();
 let b=batch(&mut r,&centers,0,n);
 println!("gen {:?}",t.elapsed()); let t=Instant::now();
 let mut ds=InsertBuilder::new(&uri[..]).with_params(&WriteParams{session:Some(session.clone()),enable_stable_row_ids:false,..Default::default()}).execute(vec![b]).await.unwrap();
 println!("write {:?}",t.elapsed()); let t=Instant::now();
 let mut ivf=IvfBuildParams::default(); ivf.num_partitions=Some(std::env::args().nth(2).unwrap().parse().unwrap());
 let p=VectorIndexParams::with_ivf_hnsw_sq_params(MetricType::Cosine,ivf,HnswBuildParams{m:16,ef_construction:64,..Default::default()},SQBuildParams::default());
 ds.create_index(&["vector"],IndexType::Vector,Some("vector_idx".into()),&p,true).await.unwrap();
 println!("hnsw {:?}",t.elapsed()); let t=Instant::now();
 ds.create_index(&["content"],IndexType::Inverted,Some("content_idx".into()),&InvertedIndexParams::default(),true).await.unwrap();
 println!("fts {:?}",t.elapsed()); let t=Instant::now();
 for (c,ty) in [("scope",IndexType::Bitmap),("status",IndexType::Bitmap),("key",IndexType::BTree)] { ds.create_index(&[c],ty,Some(format!("{c}_idx")),&ScalarIndexParams::default(),true).await.unwrap(); }
 println!("scalar {:?}",t.elapsed());
 let ds=Arc::new(ds);
 let t=Instant::now(); let b=ds.scan().project(&["key","scope","status"]).unwrap().with_row_id().try_into_batch().await.unwrap(); println!("directory scan {:?} {}",t.elapsed(),b.num_rows());
 for (np,ef,acorn) in [(1usize,64usize,false),(1,128,false),(4,64,false),(4,64,true),(4,128,true),(2,128,true),(8,128,true)] { println!("== nprobes {np} ef {ef} acorn {acorn}"); for sel in ["0.18","0.002","1"] {
  let ids:Vec<u64>=(0..n as u64).filter(|i| match sel {"0.18"=> i%10<3 && i%5<3, "0.002"=> i%500==0, _=>true}).collect();
  let mut q=Lcg(99);
  let (mut tv,mut tf,mut tm,mut tb)=(vec![],vec![],vec![],vec![]);
  let mut hits=0; let mut total=0;
  for it in 0..150 {
   let query=vecs(&mut q,&centers);
   let t0=Instant::now();
   let mask=RowAddrMask::from_allowed(RowAddrTreeMap::from_iter(ids.iter().copied()));
   tm.push(t0.elapsed().as_secs_f64()*1e3);
   let arr=Float32Array::from(query.clone());
   let t0=Instant::now();
   let mut s=ds.scan(); s.nearest("vector",&arr,20).unwrap(); s.prefilter(true).with_row_id_prefilter(mask.clone()).fast_search().ef(ef).nprobes(np).approx_mode(if acorn {lance_index::vector::ApproxMode::Fast} else {lance_index::vector::ApproxMode::Normal}).distance_metric(MetricType::Cosine).disable_scoring_autoprojection().project(&["_rowid","_distance"]).unwrap();
   let out=s.try_into_batch().await.unwrap();
   tv.push(t0.elapsed().as_secs_f64()*1e3);
   if it<15 { let mut s=ds.scan(); s.nearest("vector",&arr,10).unwrap(); s.prefilter(true).with_row_id_prefilter(mask.clone()).use_index(false).distance_metric(MetricType::Cosine).disable_scoring_autoprojection().project(&["_rowid","_distance"]).unwrap();
     let t0=Instant::now(); let ex=s.try_into_batch().await.unwrap(); tb.push(t0.elapsed().as_secs_f64()*1e3);
     let e=ex.column_by_name("_rowid").unwrap().as_any().downcast_ref::<UInt64Array>().unwrap().values().to_vec(); let o=out.column_by_name("_rowid").unwrap().as_any().downcast_ref::<UInt64Array>().unwrap().values()[..10.min(out.num_rows())].to_vec();
     total+=e.len(); hits+=e.iter().filter(|x|o.contains(x)).count(); }
   let text:Vec<String>=(0..6).map(|_|format!("w{}",q.next()%5000)).collect();
   let t0=Instant::now();
   let mut s=ds.scan(); s.full_text_search(FullTextSearchQuery::new(text.join(" ")).with_column("content".into()).unwrap().limit(Some(20))).unwrap(); s.prefilter(true).with_row_id_prefilter(mask).fast_search().disable_scoring_autoprojection().project(&["_rowid","_score"]).unwrap();
   let out=s.try_into_batch().await.unwrap();
   tf.push(t0.elapsed().as_secs_f64()*1e3);
  }
  println!("sel {sel}: mask {} | vec {} | fts {} | brute {} | recall {}/{}",pct(tm),pct(tv),pct(tf),pct(tb),hits,total);
 }
 } // lance-native filter
 let mut q=Lcg(99); let (mut tv,mut tf)=(vec![],vec![]);
 for _ in 0..200 { let arr=Float32Array::from(vecs(&mut q,&centers));
   let f="scope IN ('org/a/project/p0','org/a/project/p1','org/a/project/p2') AND status IN (0,1,2)";
   let t0=Instant::now(); let mut s=ds.scan(); s.nearest("vector",&arr,20).unwrap(); s.prefilter(true).filter(f).unwrap().fast_search().ef(100).nprobes(4).project(&["key","scope"]).unwrap(); s.try_into_batch().await.unwrap(); tv.push(t0.elapsed().as_secs_f64()*1e3);
   let text:Vec<String>=(0..6).map(|_|format!("w{}",q.next()%5000)).collect();
   let t0=Instant::now(); let mut s=ds.scan(); s.full_text_search(FullTextSearchQuery::new(text.join(" ")).with_column("content".into()).unwrap().limit(Some(20))).unwrap(); s.prefilter(true).filter(f).unwrap().fast_search().project(&["key","scope"]).unwrap(); s.try_into_batch().await.unwrap(); tf.push(t0.elapsed().as_secs_f64()*1e3); }
 println!("native filter vec {} fts {}",pct(tv),pct(tf));
 // merge insert cost
 for (label,from,k) in [("new 64",n,64usize),("update 64",100,64),("new 1",n+64,1)] {
  let b=batch(&mut r,&centers,from,k); let t0=Instant::now();
  let mut m=MergeInsertBuilder::try_new(ds.clone(),vec!["key".into()]).unwrap(); m.when_matched(WhenMatched::UpdateAll).when_not_matched(WhenNotMatched::InsertAll);
  let u=m.try_build().unwrap().execute_uncommitted_batches(vec![b]).await.unwrap(); let t1=t0.elapsed();
  let c=CommitBuilder::new(ds.clone()).execute(u.transaction).await; println!("merge {label}: {:?} commit {:?} {:?}",t1,t0.elapsed(),c.map(|d|d.version_id()).map_err(|e|e.to_string()));
 }
}
